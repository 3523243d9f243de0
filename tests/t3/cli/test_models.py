from t3.cli.main import main


def test_models(capsys):
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    for word in ("t-nlg", "mega-gpt-2", "8192 x 4256 x 2128", "16384 x 3072 x 192", "Table 2"):
        assert word in printed
