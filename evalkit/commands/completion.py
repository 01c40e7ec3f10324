"""`evalkit completion SHELL`: a script with which bash or zsh completes commands, options, reports and parameters."""

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import Any

from evalkit.commands.runs import DONE

NAMING = ("report", "parameters", "notebook", "--report")  # what a name of a report follows
OF_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
SCRIPT = r"""_evalkit() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" words="" each
    if ((COMP_CWORD == 1)); then
        words="COMMANDS"
    elif [[ $before == -p ]]; then
        for each in "${COMP_WORDS[@]}"; do
            case $each in
                PARAMETERS
            esac
        done
    elif [[ $word == -* ]]; then
        case ${COMP_WORDS[1]} in
            OPTIONS
        esac
    else
        case $before in
            NAMING) words="REPORTS" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _evalkit evalkit
"""


def script(shell: str, commands: Mapping[str, ArgumentParser]) -> str:
    """The script. commands: the parser of each."""
    from evalkit.parameters import REPORTS

    texts = {
        "COMMANDS": " ".join(commands),
        "PARAMETERS": _cases({name: report.options() for name, report in REPORTS.items()}, 16),
        "OPTIONS": _cases({name: parser._option_string_actions for name, parser in commands.items()}, 12),
        "NAMING": " | ".join(NAMING),
        "REPORTS": " ".join(REPORTS),
    }
    text = SCRIPT
    for name, words in texts.items():
        text = text.replace(name, words)
    return (OF_ZSH if shell == "zsh" else "") + text


def _cases(words: Mapping[str, Iterable[str]], indent: int) -> str:
    """A line for each name, with the words that are completed there."""
    lines = (f'{name}) words="{" ".join(several)}" ;;' for name, several in words.items())
    return f"\n{' ' * indent}".join(lines)


def main(options: Any) -> int:
    """Print the script."""
    print(script(options.shell, options.commands), end="")
    return DONE
