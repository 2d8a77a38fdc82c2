"""The rules of pages/ find what is wrong on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.pages.markdown import anchors, blocks, links
from tests.pages.page import play
from tests.pages.shown import matches

NOWHERE = "http://127.0.0.1:9"


def page(text: str, folder: Path) -> Path:
    """A page with this text; its fences are written ~~~."""
    path = folder / "page.md"
    path.write_text(text.replace("~~~", "```"))
    return path


def scratch(folder: Path) -> Path:
    made = folder / "scratch"
    made.mkdir()
    return made


SOUND = """
~~~python
x = 2
print(x)
~~~

~~~text
2
~~~

~~~python
print(x / 0)
~~~

~~~text
ZeroDivisionError: …
~~~

~~~console
$ echo '{"a": 1,
  "b": [1, 2]}'
{"b": [1, …], …}
$ Y=3
$ echo $Y
3
~~~

<!-- file: data.txt -->
~~~text
words
~~~

~~~console
$ cat data.txt
words
~~~

<!-- fails: there is no such file -->
~~~console
$ cat nothing
cat: …
~~~

<!-- run by: .ci/run -->
~~~console
$ make test
~~~

~~~source
y = x + 1
~~~

~~~steps
{"op": "add", "args": ["x", 1], "out": "y"}
~~~
"""

BROKEN = {
    "another output": "~~~python\nprint(1)\n~~~\n\n~~~text\n2\n~~~",
    "an output that isn't shown": "~~~python\nprint(1)\n~~~",
    "an output that doesn't come": "~~~python\nx = 1\n~~~\n\n~~~text\n1\n~~~",
    "an exception that isn't shown": "~~~python\nraise ValueError\n~~~",
    "a warning": "~~~python\nimport warnings\nwarnings.warn('old')\n~~~",
    "a result of nothing": "~~~text\n1\n~~~",
    "a kind without a rule": "~~~ruby\nputs 1\n~~~",
    "a block of no kind": "~~~\n1\n~~~",
    "an indented block": "    1\n",
    "a command that prints something else": "~~~console\n$ echo 1\n2\n~~~",
    "a command that fails": "~~~console\n$ false\n~~~",
    "a command that should fail": "<!-- fails: it can't -->\n~~~console\n$ true\n~~~",
    "JSON that differs": '~~~console\n$ echo \'{"a": 1}\'\n{"a": 2}\n~~~',
    "JSON that nothing sends": '~~~json\n{"a": 1}\n~~~',
    "JSON that its model refuses": '<!-- body: OpsRequest -->\n~~~json\n{"a": 1}\n~~~',
    "a file that nothing reads": "<!-- file: a.txt -->\n~~~text\n1\n~~~",
    "a runner that isn't there": "<!-- run by: tests/no.py -->\n~~~console\n$ make test\n~~~",
    "a runner that does something else": "<!-- run by: .ci/run -->\n~~~console\n$ make demo\n~~~",
    "a verb that isn't there": "<!-- run by: .ci/run -->\n~~~console\n$ make tea\n~~~",
    "Python that is run elsewhere": "<!-- run by: .ci/run -->\n~~~python\n1\n~~~",
    "a setting that isn't there": "<!-- run by: make image-test -->\n~~~console\n"
    "$ docker run -e GRADWIRE_SECRET=1 gradwire\n~~~",
    "a profile that isn't there": "<!-- run by: make image-test -->\n~~~console\n"
    "$ docker compose --profile tea up\n~~~",
    "a build argument that isn't there": "<!-- run by: make image-test -->\n~~~console\n"
    "$ docker build --build-arg TEA=1 .\n~~~",
    "source with other steps": "~~~source\ny = x + 1\n~~~\n\n~~~steps\n"
    '{"op": "add", "args": ["x", 2], "out": "y"}\n~~~',
    "source without a result": "~~~source\ny = x + 1\n~~~",
    "a grammar with a rule that isn't there": '~~~ebnf\na = b | "c" ;\n~~~',
    "a reply without a request": "~~~http\n200 OK\n~~~",
}


def test_a_sound_page_passes(tmp_path: Path) -> None:
    play(page(SOUND, tmp_path), NOWHERE, scratch(tmp_path))


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_page_fails(what: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"^page\.md:\d"):
        play(page(BROKEN[what], tmp_path), NOWHERE, scratch(tmp_path))


@pytest.mark.parametrize(
    ("shown", "got", "same"),
    [
        ("a … c", "a b\nb c", True),
        ("a … c", "a b", False),
        ("a", "a  ", True),
        ("a.c", "abc", False),
        ('{"a": 1}', '{"a":1}', True),
        ('{"a": 1}', '{"a":1.0}', False),
        ('{"a": 1}', '{"a":1,"b":2}', False),
        ('{"a": 1, …}', '{"a":1,"b":2}', True),
        ('{"a": 1, …}', '{"b":2}', False),
        ('{"a": …}', '{"a":[1,2]}', True),
        ('{"a": "s_…"}', '{"a":"s_12"}', True),
        ('{"a": "s_…"}', '{"a":"r_12"}', False),
        ('{"a": true}', '{"a":1}', False),
        ("[1, …]", "[1,2,3]", True),
        ("[1, …]", "[2,3]", False),
        ("[1, 2]", "[1,2,3]", False),
        ("{not json", "{not json", True),
    ],
)
def test_what_is_the_same(shown: str, got: str, same: bool) -> None:
    assert matches(shown, got) is same


def test_marks_belong_to_the_next_block_alone(tmp_path: Path) -> None:
    text = "<!-- file: a -->\n~~~text\n1\n~~~\n\nwords\n\n~~~text\n2\n~~~\n"
    marks: list[dict[str, Any]] = [block.marks for block in blocks(page(text, tmp_path))]
    assert marks == [{"file": "a"}, {}]


def test_links_and_anchors(tmp_path: Path) -> None:
    text = 'See [a](b.md#c-d) and ![e](f.svg).\n\n<img src="g.png">\n\n## What `is` it, not?\n'
    path = page(text, tmp_path)
    assert list(links(path)) == ["b.md#c-d", "f.svg", "g.png"]
    assert anchors(path) == {"what-is-it-not"}
