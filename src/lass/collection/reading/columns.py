"""Which columns of a table hold ids, titles, texts and tags: by their names, and by what is in their cells.

Names are compared without accents and case, in the languages that people's tables came in. What is in the
cells decides where names do not, and overrules them: a column ``subject`` may hold tags, or a line of text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from lass.collection.reading.cells import NO, SEPARATORS, YES, listed
from lass.collection.reading.items import ID, ROW_NUMBER, TEXT, TITLE
from lass.collection.reading.tables import Table
from lass.collection.reading.tag_tables import TAG, TAGS

#: rows that are looked at, and cells below which their contents decide nothing
ROWS, ENOUGH = 500, 8
#: most terms, and characters, of a tag on average; terms from which on a cell reads like a text
TERMS, CHARACTERS, PROSE = 3.5, 40, 3
#: share of the cells with several tags, and of the tags that recur, from which on they look like tags
SEVERAL, RECUR = 0.1, 0.5
#: share of the rows in which an id may recur by mistake, one row at least
MISTAKES = 0.02
#: of columns with one value a cell: so many recur, and so many differ at most
RECUR_ALONE, DIFFER = 0.8, 0.2

_OTHER_TAGS = (
    "keyword", "categories", "category", "label", "subjects", "subject", "topics", "topic", "genres", "genre",
    "schlagwort", "schlagworte", "schlagworter", "stichwort", "stichworte", "stichworter", "etikett",
    "etiketten", "kategorie", "kategorien", "thema", "themen", "rubrik", "rubriken", "sachgebiet",
    "mots cles", "mot cle", "etiquette", "etiquettes", "categorie", "sujet", "sujets", "theme", "themes",
    "etiqueta", "etiquetas", "palabras clave", "palabra clave", "categoria", "categorias", "tema", "temas",
    "materia", "materias", "palavras chave", "palavra chave", "assunto", "assuntos", "etichetta", "etichette",
    "parole chiave", "parola chiave", "argomenti", "soggetti", "temi", "trefwoord", "trefwoorden",
    "onderwerp", "onderwerpen", "categorieen", "tagi", "slowa kluczowe", "taggar", "nyckelord", "kategorier",
    "amnesord", "emneord", "nokkelord", "nogleord", "avainsanat", "asiasanat", "stitky", "klicova slova",
    "etiketler", "anahtar kelimeler", "теги", "тэги", "метки", "ключевые слова", "категории", "рубрики",
    "标签", "關鍵詞", "关键词", "標籤", "分类", "タグ", "キーワード", "カテゴリ", "태그", "키워드",
)  # fmt: skip
_OTHER_TITLES = (
    "titel", "titre", "titulo", "titolo", "tytul", "otsikko", "название", "заголовок", "标题", "タイトル",
    "headline", "heading", "subject", "betreff", "uberschrift",
)  # fmt: skip
_OTHER_NAMES = ("bezeichnung", "nom", "nombre", "nome", "naam", "имя", "名称", "名前")
_OTHER_TEXTS = (
    "beschreibung", "zusammenfassung", "inhalt", "kurzbeschreibung", "resume", "texte", "contenu",
    "descripcion", "resumen", "texto", "contenido", "descricao", "resumo", "descrizione", "riassunto",
    "testo", "contenuto", "beschrijving", "samenvatting", "tekst", "inhoud", "opis", "tresc", "beskrivning",
    "beskrivelse", "innehall", "описание", "текст", "содержание", "аннотация",
    "摘要", "描述", "内容", "説明", "本文",
)  # fmt: skip
#: letters that are not another with an accent
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "\u0131": "i"})
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?")


@dataclass(frozen=True)
class FoundColumns:
    """What each column is for, as a proposal."""

    id: str
    title: str | None
    text: list[str] = field(default_factory=list)
    tags: str | None = None
    #: whether the column of tags is called so, or has several in a cell; else it may be some other category
    sure: bool = True


def find_columns(table: Table, rows: Sequence[Sequence[Any]]) -> FoundColumns:
    """Propose the columns of a table from its names and its first rows.

    Examples
    --------
    >>> from lass.collection.reading.columns import find_columns
    >>> from lass.collection.reading.errors import BadRowLog
    >>> from lass.collection.reading.tables import any_table
    >>> rows = [{"Nr": n, "Inhalt": f"ein Text zu {n}", "Schlagwörter": "Post; Spiel"} for n in range(3)]
    >>> table = any_table(rows, BadRowLog("items"), ())
    >>> find_columns(table, [list(row.values()) for row in rows])
    FoundColumns(id='Nr', title=None, text=['Inhalt'], tags='Schlagwörter', sure=True)
    """
    cells = {name: [row[at] for row in rows] for at, name in enumerate(table.columns)}
    id = _id(table, cells)
    tags, sure = _tags(cells, id)
    title = next(
        (name for name in _called(table.columns, (*TITLE, *_OTHER_TITLES, *_OTHER_NAMES)) if name != tags),
        None,
    )
    usual = (TITLE[0], *_OTHER_TITLES, *TEXT, *_OTHER_TEXTS)
    names = [name for name in _called(table.columns, usual) if name not in (id, tags)]
    if set(names) <= {title}:  # no column of texts has a usual name: those that read like sentences
        names += [name for name in table.columns if name not in (id, title, tags) and is_prose(cells[name])]
    return FoundColumns(id, title, names, tags, sure)


def is_prose(cells: Iterable[Any]) -> bool:
    """Whether most of some cells are several terms, not numbers, with spaces between them."""
    terms = [[term for term in str(cell or "").split() if any(map(str.isalpha, term))] for cell in cells]
    return 2 * sum(len(found) >= PROSE for found in terms) > len(terms)


def plain_name(name: str) -> str:
    """The name of a column without accents, case and signs."""
    letters = unicodedata.normalize("NFKD", name.casefold()).translate(_LETTERS)
    letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.findall(r"\w+", letters.replace("_", " ")))


def _called(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that are called one of these, in the order of the names."""
    plain = {plain_name(column): column for column in reversed(columns)}
    return list(dict.fromkeys(plain[key] for key in map(plain_name, names) if key in plain))


def _id(table: Table, cells: dict[str, list[Any]]) -> str:
    """As :meth:`Table.find_id`, but another column where values of the first recur, or the row number."""
    found = table.find_id(*ID)
    values = [str(cell) for cell in cells[found]]
    twice = len(values) - len(set(values))
    if found.lower() in ID or len(values) < ENOUGH or twice <= max(1, MISTAKES * len(values)):
        return found
    return next((name for name in table.columns if _are_ids(cells[name])), ROW_NUMBER)


def _are_ids(cells: Sequence[Any]) -> bool:
    texts = [str(cell) for cell in cells if cell not in (None, "")]
    return len(texts) == len(cells) == len(set(texts)) and max(map(len, texts), default=0) <= 2 * CHARACTERS


@dataclass(frozen=True)
class _Values:
    """The values in the cells of a column, cut by what separates them."""

    #: of cells with a value, how many have several; and whether all have equally many
    several: float
    even: bool
    #: share of the values that recur, and of those that differ
    recur: float
    differ: float
    terms: float
    characters: float
    #: share with a letter, which are no dates, addresses or marks for yes and no
    names: float
    cells: int
    kinds: int

    @property
    def are_short(self) -> bool:
        return self.terms <= TERMS and self.characters <= CHARACTERS and self.names >= 0.7


def _values(cells: Sequence[Any], separator: str | None) -> _Values | None:
    lists = []
    for cell in cells:
        found = listed(cell)
        parts = found if found is not None else str(cell or "").split(separator) if separator else [cell]
        parts = [text for part in parts if (text := str("" if part is None else part).strip())]
        if parts:
            lists.append(parts)
    if not lists:
        return None
    values = [value for parts in lists for value in parts]
    counts = Counter(values)
    sizes = {len(parts) for parts in lists}
    return _Values(
        several=fmean(len(parts) > 1 for parts in lists), even=len(sizes) == 1,
        recur=sum(count for count in counts.values() if count > 1) / len(values),
        differ=len(counts) / len(values), terms=fmean(len(value.split()) for value in values),
        characters=fmean(map(len, values)), names=fmean(map(_is_name, values)), cells=len(lists),
        kinds=len(counts),
    )  # fmt: skip


def _is_name(value: str) -> bool:
    if not any(map(str.isalpha, value)) or value.lower() in YES | NO:
        return False
    return not _DATE.fullmatch(value) and "://" not in value and "@" not in value.lstrip("@")


def _best_cut(cells: Sequence[Any]) -> _Values | None:
    """The values with the separator that most cells have, as the reading takes it."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    counts = {sign: sum(sign in text for text in texts) for sign in SEPARATORS}
    best = max(SEPARATORS, key=counts.__getitem__)
    return _values(cells, best if counts[best] else None)


def _tags(cells: dict[str, list[Any]], id: str) -> tuple[str | None, bool]:
    """The column of tags, if any, and whether it surely is one."""
    known = {name: values for name in cells if name != id and (values := _best_cut(cells[name])) is not None}
    for name in _called(list(known), (*TAGS, *TAG, *_OTHER_TAGS)):
        if _may_be(known[name]):
            return name, True
    lists = {
        name: values for name, values in known.items()
        if values.cells >= ENOUGH and values.several >= SEVERAL and not values.even
        and values.are_short and values.recur >= RECUR
    }  # fmt: skip
    if lists:
        return max(lists, key=lambda name: lists[name].recur * lists[name].several), True
    alone = [
        name for name, values in known.items()
        if values.cells >= ENOUGH and values.several == 0 and values.are_short and values.kinds > 1
        and values.recur >= RECUR_ALONE and values.differ <= DIFFER
    ]  # fmt: skip
    return (alone[0], False) if len(alone) == 1 else (None, False)


def _may_be(values: _Values) -> bool:
    """Whether a column that is called so may hold tags: not if its cells are texts, or all differ."""
    if values.terms > TERMS or values.characters > CHARACTERS:
        return False
    recur = values.several >= SEVERAL or values.recur >= RECUR / 2
    return values.cells < ENOUGH or (recur and values.names >= 0.5)
