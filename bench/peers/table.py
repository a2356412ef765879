"""Text and Markdown tables, and the spread of figures over rounds."""

from statistics import median


def show(headings, rows, markdown):
    """Prints a table as aligned text or as Markdown."""
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
    """Returns lines that list, by reason, what is missing from a table. `reasons` maps names to reasons."""
    names = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return [f"skipped: {'; '.join(each)}: {reason}" for reason, each in names.items()]


def spread(values, digits=2):
    """Formats the median and, if there are several rounds, their range."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    middle = f"{median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
