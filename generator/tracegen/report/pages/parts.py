"""The figures and tables of a run's pages as blocks: each with its files, or with the reason why it is not shown."""

from dataclasses import replace

from tracegen.charts import svg, theme
from tracegen.contract import quantities as q
from tracegen.report.document.amount import in_words
from tracegen.report.document.assets import APPENDIX, Assets
from tracegen.report.document.blocks import FigureBlock, TableBlock
from tracegen.report.figures.catalogue import of_page
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Figure, Part, Rows, Table
from tracegen.report.findings import found

COLUMN = theme.WIDTHS[1:2]  # of a figure of the appendix, which has one layout
Sections = dict[str, list[FigureBlock | TableBlock]]


def sections(context: Context, assets: Assets, page: str) -> Sections:
    """The figures and tables of a page that this run has, by section, in their order."""
    blocks: Sections = {part.section: [] for part in of_page(page)}
    for part in of_page(page):
        if part.when.holds(context):
            block = figure(context, assets, part) if isinstance(part, Figure) else table(context, assets, part)
            blocks[part.section].append(block)
    return blocks


def figure(context: Context, assets: Assets, of: Figure, **options: object) -> FigureBlock:
    """Draw a figure with its downloads, or say why it is not drawn; `options` are arguments of its content."""
    refused = context.refusal(of.needs)
    if refused:
        return FigureBlock(of.key, of.title, of.counts, of.title, None, refused)
    content = of.content(context, **options)
    title = content.title or of.title
    if content.empty:
        return FigureBlock(of.key, title, content.caption, content.alt, None, content.empty)
    caption, answer = _kept(context, assets, content, of), in_words(content.answer)
    alt = f"{content.alt} {q.ended(answer)}" if answer else content.alt
    widths = COLUMN if of.page == APPENDIX else of.widths
    drawing = svg.draw_layouts(content.chart, of.key, alt, assets.executor, widths)
    block = assets.figure(of.key, of.page, title, caption, alt, drawing, content.data, numbers=content.numbers)
    return replace(block, wide=of.wide, answer=content.answer)


def table(context: Context, assets: Assets, of: Table) -> TableBlock:
    """Keep a table with its CSV, or say why it is not shown."""
    refused = context.refusal(of.needs)
    if refused:
        return TableBlock(of.key, of.title, of.counts, (), (), refused)
    content = of.content(context)
    rows = tuple(content.rows)
    reason = "" if rows else content.empty or "There are no rows."
    csv = "" if content.data is None else assets.csv(content.file or of.key, content.data)
    caption = _kept(context, assets, content, of)
    title, head = content.title or of.title, tuple(content.head)
    answered = f"{q.ended(in_words(content.answer))} {caption}" if content.answer else caption
    tex = assets.table_tex(of.key, title, answered, head, rows) if rows else ""
    return TableBlock(of.key, title, caption, head, rows, reason, csv, content.numbers, tex, content.answer)


def _kept(context: Context, assets: Assets, content: Content | Rows, part: Part) -> str:
    """Keep the files of a figure or table, and return its caption with what it says of checks, and is cited with."""
    for path, file in content.files.items():
        assets.keep(path, file)
    cited = [finding.text for finding in found.findings(context) if finding.part.key == part.key]
    said = f" What the first page says with it: {' '.join(cited)}" if cited else ""
    return content.caption + context.noted(part.needs) + said
