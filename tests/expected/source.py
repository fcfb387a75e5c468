"""The text of a lambda, for the name of a test, or of what was recorded of it."""

import ast
import functools
import pathlib


@functools.cache
def _lambdas(path):
    """{line: text} of the outermost lambda that begins on each line of a file."""
    texts = {}
    for node in ast.walk(ast.parse(pathlib.Path(path).read_text())):
        if isinstance(node, ast.Lambda):
            texts.setdefault(node.lineno, ast.unparse(node.body))
    return texts


def text_of(call):
    """The expression of a lambda, as its file has it; one lambda to a line, but for those inside of it."""
    return _lambdas(call.__code__.co_filename)[call.__code__.co_firstlineno]


def texts_of(calls):
    """The texts of lambdas, which differ."""
    texts = [text_of(call) for call in calls]
    assert len(set(texts)) == len(texts), "one call to a line, and each once"
    return texts
