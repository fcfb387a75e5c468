"""For the reference: docstrings head their examples with "Example:", which is "Examples:" to the tool that renders them."""

import re

import griffe


class Examples(griffe.Extension):
    """Rewrites the headings before docstrings are parsed."""

    def on_instance(self, *, obj, **_):
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^(\s*)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE
            )
