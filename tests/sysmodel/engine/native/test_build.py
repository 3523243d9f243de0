import sys
import threading
import time
import types
from functools import reduce
from operator import xor

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters
from sysmodel.engine.native import build_component
from sysmodel.engine.native.build import NoCompilerError, build
from sysmodel.engine.native.verilate import Toolchain
from sysmodel.engine.ports import port_words
from tests.support.toy_top import Toy


class Register(wiring.Component):
    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


class Chain(wiring.Component):
    """Parity of many bits, one after the other."""

    i: In(1).array(1000)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(reduce(xor, self.i))
        return m


def build_register(inputs=1, **options):
    component = Register()
    return build_component(component, port_words(component.signature), inputs, 1, **options)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    return tmp_path / "native"


@pytest.fixture
def made(monkeypatch):
    """List the libraries that a slow fake tool chain was asked for."""
    made = []

    def make_library(self, sources, target, done):
        made.append(sources)
        time.sleep(0.2)
        target.write_text("library")
        done(1.0)

    monkeypatch.setattr(Toolchain, "make_library", make_library)
    return made


def test_builds_expressions_of_any_depth(cache, made):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        component = Chain()
        build_component(component, port_words(component.signature), 1000, 1)
    finally:
        sys.setrecursionlimit(before)
    assert len(made) == 1


def test_builds_once(cache, made):
    first = build_register()
    assert build_register() == first
    assert len(made) == 1
    assert first.parent == cache


def test_library_key(cache, made, monkeypatch):
    paths = [build_register(), build_register(trace=True)]
    paths.append(build_register(inputs=2))
    monkeypatch.setenv("CXX", "g++ -Wall")
    paths.append(build_register())
    assert len(set(paths)) == len(made) == 4


def test_builds_at_the_same_time_make_one(cache, made):
    paths = []
    threads = [threading.Thread(target=lambda: paths.append(build_register())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 3 and len(set(paths)) == 1
    assert len(made) == 1


def test_index(cache, made, monkeypatch):
    elaborated = []

    class T3(Toy):
        def elaborate(self, platform):
            elaborated.append(self)
            return super().elaborate(platform)

    monkeypatch.setitem(sys.modules, "rtl.top", types.SimpleNamespace(T3=T3))
    module = sys.modules["sysmodel.engine.native.build"]
    monkeypatch.setattr(module, "_sources_digest", lambda: module._imported_sources)
    first = build(T3Parameters(contexts=1))
    assert build(T3Parameters(contexts=1)) == first
    assert len(elaborated) == len(made) == 1
    assert build(T3Parameters(contexts=1, with_data=True)) != first
    assert len(elaborated) == len(made) == 2
    first.unlink()
    assert build(T3Parameters(contexts=1)) == first
    assert len(made) == 3
    # Damaged ones are none.
    first.write_bytes(first.read_bytes() + b"more")
    assert build(T3Parameters(contexts=1)) == first
    assert len(made) == 4
    for index in cache.rglob("*.index"):
        index.write_bytes(b"\xff\x00")
    assert build(T3Parameters(contexts=1)) == first
    assert len(made) == 4


def test_no_index_for_sources_edited_since_the_import(cache, made, monkeypatch):
    monkeypatch.setitem(sys.modules, "rtl.top", types.SimpleNamespace(T3=Toy))
    module = sys.modules["sysmodel.engine.native.build"]
    monkeypatch.setattr(module, "_sources_digest", lambda: "edited")
    build(T3Parameters(contexts=1))
    assert not list(cache.glob("*.index"))
    monkeypatch.setattr(module, "_imported_sources", "edited")
    build(T3Parameters(contexts=1))
    assert len(list(cache.glob("*.index"))) == 1
    assert len(made) == 1


def test_progress(cache, made):
    reports = []
    build_register(progress=lambda stage, fraction: reports.append((stage, fraction)))
    fractions = [fraction for _, fraction in reports]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0 and fractions[-1] == 1
    assert len({stage for stage, _ in reports}) == 3


def test_no_compiler(cache, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    message = "'no-such-compiler' was not found. Install g.* engine golden needs no compiler"
    with pytest.raises(NoCompilerError, match=message):
        build(T3Parameters(contexts=1))


def test_failing_compiler_leaves_nothing(cache, monkeypatch, tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo broken >&2; exit 3; }\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(RuntimeError, match="compiler failed with status 3:\nbroken"):
        build_register()
    assert not [path for path in cache.iterdir() if path.suffix != ".lock"]


def test_parameters_of_another_kind():
    with pytest.raises(TypeError, match="^Parameters must be T3Parameters, not 1$"):
        build(1)
