from sysmodel.config.bundled import PRESETS
from t3.cli.main import main


def test_presets(capsys):
    assert main(["presets"]) == 0
    printed = capsys.readouterr().out
    for word in ("asplos24", "asplos24-complete", "114.7 TFLOPS", "DRAMsim3", "values: gpu."):
        assert word in printed
    assert main(["presets", "asplos24"]) == 0
    assert capsys.readouterr().out == PRESETS.path("asplos24", "name").read_text()


def test_an_unknown_preset(fails):
    assert fails(["presets", "v100"]) == (
        "name: 'v100' is not known; allowed: a100, asplos24, asplos24-complete, asplos24-gpgpusim, "
        "asplos24-stages, b200, h100, h200, h800, mi210, mi300x, rtx4090"
    )
