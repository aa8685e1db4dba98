"""`ana completion`: the script that lets a shell complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from anabranch.cli.options import make_command
from anabranch.cli.session import Session

SHELLS, PROGRAMS = ("bash", "zsh", "fish"), ("ana", "anabranch")

_QUOTING = r"""
            if [[ ${COMP_WORDS[COMP_CWORD]} != [\"\']* && $value == *[\ \'\"\\\$\`\&\;\(\)\|\<\>\*\?\!\#]* ]]; then
                printf -v value %q "$value"
            fi
            COMPREPLY+=("$value")
"""
"""For bash, which puts what is offered into the line as it is."""


@make_command("completion", short_help="Print a script for the shell's completion.")
@click.argument("shell", type=click.Choice(SHELLS))
def command(session: Session, shell: str) -> None:
    """Print the script that completes commands, options and names of branches, tags and tables.

    In ~/.bashrc or ~/.zshrc: eval "$(ana completion bash)"; fish: ana completion fish | source.

    \b
    $ ana completion bash
    $ ana completion zsh

    JSON: shell, script.
    """
    script = "\n".join(_script(shell, program) for program in PROGRAMS)
    session.tell({"shell": shell, "script": script}, script)


def _script(shell: str, program: str) -> str:
    """The script for one of the program's names, without asking the shell for its version."""
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(click.get_current_context().find_root().command, {}, program, f"_{program.upper()}_COMPLETE")
    return (made.source_template % made.source_vars()).replace("COMPREPLY+=($value)", _QUOTING.strip())
