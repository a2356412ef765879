"""Tables of text or Markdown, and the spread of figures over rounds."""

from statistics import median


def show(headings, rows, markdown):
    """Prints a table: aligned, or as Markdown for a document."""
    lines = [headings, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    aligned = [[cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths))] for line in lines]
    if markdown:
        rule = ["-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
        aligned.insert(1, rule)
    for line in aligned:
        print("| " + " | ".join(line) + " |" if markdown else "  ".join(line).rstrip())
    print(flush=True)


def left_out(reasons):
    """Lines about what is not in a table, by reason; `reasons` is by name."""
    names = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return [f"left out: {'; '.join(each)}: {reason}" for reason, each in names.items()]


def spread(values, digits=2):
    """The median, and the range over the rounds if there are several."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    middle = f"{median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
