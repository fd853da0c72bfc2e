from __future__ import annotations

import io
import json

import pytest

from reprise.pipeline.progress import Display, Sweeps, clock


def line(experiment: str, done: int, total: int, cached: int = 0) -> str:
    said = {"experiment": experiment, "done": done, "total": total, "cached": cached}
    return json.dumps(said) + "\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (59, "59 s"), (185, "3:05 min"), (4800, "1:20 h")]
)
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_sweeps_follow_a_file_that_grows(tmp_path):
    path = tmp_path / "p"
    sweeps = Sweeps(path)
    assert sweeps.update() == []
    path.write_text(line("e1", 0, 4, 1))
    assert sweeps.update() == ["e1"]
    with path.open("a") as file:
        file.write(line("e1", 4, 4, 1) + line("e2", 1, 9) + '{"experiment": "e2", "do')
    assert sweeps.update() == ["e1", "e2"]
    assert sweeps.describe() == "e1 4/4 (1 kept), e2 1/9"
    assert sweeps.update() == []  # the half line waits for its end
    with path.open("a") as file:
        file.write('ne": 2, "total": 9, "cached": 0}\nrubbish\n')
    assert sweeps.update() == ["e2"]
    assert sweeps.describe() == "e1 4/4 (1 kept), e2 2/9"


def test_sweeps_start_again_with_a_new_run(tmp_path):
    path = tmp_path / "p"
    path.write_text(line("e1", 1, 4) * 3)
    sweeps = Sweeps(path)
    sweeps.update()
    path.write_text(line("e1", 0, 4))
    assert sweeps.update() == ["e1"]
    assert sweeps.describe() == "e1 0/4"


def test_a_log_gets_a_line_per_event(tmp_path):
    path, out = tmp_path / "p", io.StringIO()
    with Display(3, stream=out) as display:
        display.start("one", Sweeps(path))
        display.start("two", Sweeps(tmp_path / "q"))
        path.write_text(line("e1", 1, 2))
        display.tick()  # moved, but said so lately
        path.write_text(line("e1", 1, 2) + line("e1", 2, 2))
        display.tick()
        path.write_text(line("e1", 1, 2) + line("e1", 2, 2) + line("e2", 1, 1, 1))
        display.tick()  # says what moved, not all again
        display.finish("one", "done in 3 s")
        display.start("three", Sweeps(tmp_path / "r"))
        display.finish("two", "FAILED after 1 s: cell 2: ValueError: no")
        display.finish("three", "done in 1 s")
    assert out.getvalue().splitlines() == [
        "one: started (1 running, 2 waiting)",
        "two: started (2 running, 1 waiting)",
        "one: 0 s, cells e1 2/2",
        "one: 0 s, cells e2 1/1 (1 kept)",
        "one: done in 3 s; 2 left",
        "three: started (2 running, 0 waiting)",
        "two: FAILED after 1 s: cell 2: ValueError: no; 1 left",
        "three: done in 1 s",
    ]
    assert "\x1b" not in out.getvalue()


def test_a_terminal_shows_what_runs_how_long_and_what_is_left(tmp_path):
    path, out = tmp_path / "p", Terminal()
    with Display(4, stream=out) as display:
        display.start("one", Sweeps(path))
        path.write_text(line("e1", 7, 40))
        display.tick()
        display.finish("zero", "done in 3 s")
        display._live.refresh()
        table = display.table()
        columns = [list(column.cells) for column in table.columns]
        assert columns[0] == ["one", "1 of 4 done"]
        assert columns[1] == ["0 s", ""]
        assert columns[2] == ["e1 7/40", "2 waiting"]
    assert "zero: done in 3 s; 3 left" in out.getvalue()
    assert "e1 7/40" in out.getvalue()
