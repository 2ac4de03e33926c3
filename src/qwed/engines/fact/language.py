"""The words that carry structure: verbs and their forms, prepositions, hedges, and what some imply.

Everything here only *widens* what can be matched between a claim and a source; what is not in a table is
compared as written.
"""

from typing import Final


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES: Final = words("a an the")
DETERMINERS: Final = words(
    "a an the this that these those its their his her our my your every each any some no"
)
PREPOSITIONS: Final = words(
    "in on at by for from to with since during until till through after before under into as against via "
    "near  about around across along among between within without towards toward per behind beyond "
    "outside inside onto"
)
BE: Final = {"is": "present", "are": "present", "am": "present", "was": "past", "were": "past", "be": "base"}
HAVE: Final = {"has": "present", "have": "present", "had": "past"}
DO: Final = {"does": "present", "do": "present", "did": "past"}
MODALS: Final = words("can could may might must shall should would")
NEGATIONS: Final = words("not never")
# Adverbs a source may carry without changing what it asserts.
HARMLESS_ADVERBS: Final = words(
    "also then thus therefore indeed currently now still already officially recently eventually finally "
    "successfully first originally initially later subsequently additionally formally"
)
ADVERBS: Final = HARMLESS_ADVERBS | words(
    "only just always often usually rarely seldom hardly barely almost nearly frequently sometimes once "
    "twice  soon formerly previously partly fully mostly mainly largely "
    "primarily"
)
OPENERS: Final = words(
    "however moreover furthermore additionally therefore thus indeed also meanwhile similarly"
)
# A sentence with one of these does not assert what its clauses say.
HEDGES: Final = words(
    "if unless whether allegedly reportedly supposedly perhaps maybe possibly probably likely unlikely "
    "apparently  rumored rumoured rumor rumors rumour rumours said says say saying claim claims claimed "
    "claiming believe  believes believed think thinks thought argue argues argued reported according "
    "stated told  tells assert asserts asserted allege alleges alleged suggest suggests suggested expect "
    "expects expected  planned planning aim aims aimed hope hopes hoped projected projection  predict "
    "predicts predicted false untrue myth incorrect incorrectly mistaken mistakenly deny denies denied "
    "hypothetical hypothetically suppose imagine unclear doubt doubts doubted pretend pretends pretended "
    "fictional  would could might may should proposed intend intends intended wrong wrongly hoax "
    "fake dispute  disputes disputed seem seems seemed appear appears appeared otherwise refuted debunked "
    "estimate estimates  estimated"
)
SUBORDINATORS: Final = words("which who because although though while when where that than")

_IRREGULAR: Final = """
become became become|begin began begun|break broke broken|bring brought brought|build built built
buy bought bought|catch caught caught|choose chose chosen|come came come|cost cost cost|cut cut cut
draw drew drawn|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|fight fought fought
find found found|fly flew flown|get got gotten|give gave given|go went gone|grow grew grown|hit hit hit
hold held held|keep kept kept|know knew known|lead led led|leave left left|lend lent lent|lose lost lost
make made made|mean meant meant|meet met met|pay paid paid|put put put|read read read|rise rose risen
run ran run|see saw seen|sell sold sold|send sent sent|set set set|shut shut shut|sing sang sung
sit sat sat|speak spoke spoken|spend spent spent|stand stood stood|steal stole stolen
strike struck struck|swim swam swum|take took taken|teach taught taught|tell told told|throw threw thrown
freeze froze frozen|sink sank sunk|win won won|write wrote written|bear bore born|beat beat beaten
overtake overtook overtaken|shrink shrank shrunk|shoot shot shot|split split split|spread spread spread
undergo underwent undergone|withdraw withdrew withdrawn
"""
_REGULAR: Final = """
acquire add adopt advise allow amount announce appoint approve arrive attack attend award ban base call
cause chair change close collaborate complete compose conquer contain contribute convert cover create cross
cure decline decrease defeat deliver describe design destroy develop die direct discover donate double drop
earn elect employ end enter establish exceed expand export fail finance fire form found fund generate
graduate guide happen hire house host import improve include increase inhabit inherit install introduce
invade invent invest investigate issue join kill lack last launch like locate love manage manufacture marry
measure merge migrate move name number occupy occur offer open operate order organize own paint pass patent
perform play possess prefer produce prohibit promote propose protect prove publish purchase reach receive
record reduce reject release remain remove rename repair replace require rescue resign restore retire return
review rule save serve settle share ship sign span speak sponsor star start stay stop study succeed supply
support surpass surround survive total train transfer travel treat triple trust use visit vote walk want
watch weigh work comprise consist seat equal finish premiere supervise collect border feature abolish
assassinate arrest ratify veto enact repeal connect boil melt live flow bark rain orbit inform celebrate
govern breed hunt hatch erupt crash explode float absorb emit reflect attract repel dissolve react consume
recycle refine assemble mine drill plant harvest cook bake brew ferment pour load unload deploy upgrade
downgrade patch encrypt decrypt audit certify license register enroll admit expel suspend reinstate nominate
endorse criticize praise thank congratulate apologize relocate price value rate synthesize
"""
# Verbs that double their last letter.
_DOUBLING: Final = words("ban drop stop plan ship star patent transfer span")


class VerbForms:
    """form -> lemma, and which forms are past or past participles."""

    def __init__(self) -> None:
        self.lemma: dict[str, str] = {}
        self.past: set[str] = set()
        self.participles: set[str] = set()
        self.base: set[str] = set()
        for entry in _IRREGULAR.replace("\n", "|").split("|"):
            if entry.strip():
                self._add(*entry.split())
        for base in _REGULAR.split():
            past = _regular_past(base)
            self._add(base, past, past)
        # "found" is the past of "find" far less often than the verb of companies; only "founded" is sure.
        self.lemma["founded"] = "found"

    def _add(self, base: str, past: str, participle: str) -> None:
        for form in (base, _third_person(base), past, participle, _gerund(base)):
            self.lemma.setdefault(form, base)
        self.base.add(base)
        self.past.add(past)
        self.participles.add(participle)


def _third_person(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + base[-1] + "ed" if base in _DOUBLING else base + "ed"


def _gerund(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + base[-1] + "ing" if base in _DOUBLING else base + "ing"


VERBS: Final = VerbForms()
INTRANSITIVE: Final = words(
    "die arrive retire resign occur happen live work remain return come go graduate survive end begin start "
    "move travel walk run fall rise grow decline decrease increase stand sit last crash explode sink"
)
# Events that happen once to their object, so that two dates or two makers exclude each other.
UNIQUE_EVENTS: Final = words(
    "bear die found establish incorporate invent discover publish release complete build open launch "
    "acquire  assassinate abolish enact ratify create purchase buy sign inaugurate premiere graduate end "
    "begin start write  compose paint"
)
# Of these there is only one, wherever the thing is.
ONCE_EVERYWHERE: Final = words("bear die found establish incorporate assassinate acquire")
UNIQUE_MAKERS: Final = words("write compose paint invent direct")
# What a thing has, weighs, holds at one time: two numbers exclude each other.
MEASURED: Final = words(
    "be have contain employ weigh cost measure cover span house own comprise seat hold number total last "
    "rise fall grow increase decrease decline drop earn generate produce serve boil freeze melt price value "
    "rate include"
)
# Dropping a circumstance of one of these may turn a truth into a falsehood.
NOT_MONOTONE: Final = words(
    "be have lack deny avoid fail refuse prevent stop doubt reject ban prohibit cease prefer want like "
    "love remain  hope last contain comprise consist number total equal exceed"
)
# How a noun phrase begins tells whether it speaks of one certain thing.
DEFINITE_STARTS: Final = words("the this that these those its his her their our my your all every each both")
INDEFINITE_STARTS: Final = words("a an some many several few most any another one no much other")
# What begins so narrows the statement before it, and what begins so only adds to it.
LIMITERS: Final = words(
    "except only excluding provided unless if not without never when where while that until"
)
DESCRIBERS: Final = words("a an the up down which who because although though and")
NOBODY: Final = words("nobody no none neither few nothing nor hardly")
# Words that nearly every sentence has: sharing one says nothing.
SMALL_WORDS: Final = (
    ARTICLES
    | PREPOSITIONS
    | MODALS
    | BE.keys()
    | HAVE.keys()
    | words(
        "of and or not s than it this that these those they which more all any will been being other such "
        "also only its their there who what one two new"
    )
)
RESTRICTIONS: Final = words("no few only most all every")
COLLECTIVE: Final = words(
    "meet marry merge share collaborate found establish total weigh cost sum number form build write "
    "compose own  be have fight split connect border win beat defeat"
)
VERB_SYNONYMS: Final = {"purchase": "buy", "start": "begin"}
OPPOSITES: Final = {
    "increase": "fall",
    "rise": "fall",
    "grow": "fall",
    "decrease": "rise",
    "fall": "rise",
    "decline": "rise",
    "drop": "rise",
    "shrink": "rise",
}
_OPPOSITES_TEXT: Final = (
    "alive/dead open/closed true/false legal/illegal profitable/unprofitable active/inactive hot/cold "
    "full/empty married/unmarried possible/impossible safe/unsafe visible/invisible guilty/innocent "
    "positive/negative valid/invalid complete/incomplete available/unavailable enabled/disabled"
)
OPPOSITE_WORDS: Final = {frozenset(pair.split("/")) for pair in _OPPOSITES_TEXT.split()}
ADJECTIVE_ATTRIBUTES: Final = {
    "tall": "height",
    "high": "height",
    "long": "length",
    "wide": "width",
    "deep": "depth",
    "old": "age",
    "heavy": "weight",
    "thick": "thickness",
}
COMPARATIVES: Final = {
    "taller": ("height", 1),
    "higher": ("height", 1),
    "shorter": ("height", -1),
    "longer": ("length", 1),
    "wider": ("width", 1),
    "narrower": ("width", -1),
    "deeper": ("depth", 1),
    "shallower": ("depth", -1),
    "heavier": ("weight", 1),
    "lighter": ("weight", -1),
    "older": ("age", 1),
    "younger": ("age", -1),
    "faster": ("speed", 1),
    "slower": ("speed", -1),
    "cheaper": ("price", -1),
    "costlier": ("price", 1),
    "thicker": ("thickness", 1),
    "thinner": ("thickness", -1),
}
MORE: Final = words("more larger higher greater bigger longer")
LESS: Final = words("less fewer lower smaller shorter")
VERB_ATTRIBUTES: Final = {
    "cost": ("price", "cost"),
    "weigh": ("weight", "mass"),
    "number": (),
    "span": ("span",),
}
# Roles that one holder has at a time, and superlatives, which only one thing is.
FUNCTIONAL_HEADS: Final = words(
    "capital president ceo cto cfo coo chairman chairwoman chairperson chair minister king queen emperor "
    "mayor  governor chancellor pope currency headquarters father mother wife husband spouse winner "
    "champion name title  inventor deadline birthplace principal captain coach successor predecessor "
    "status color colour address"
)
SUPERLATIVES: Final = words(
    "largest biggest tallest highest smallest longest shortest oldest youngest fastest slowest first last "
    "deepest  heaviest lightest richest poorest hottest coldest nearest farthest closest"
)
IRREGULAR_PLURALS: Final = {
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "feet": "foot",
    "countries": "country",
    "inhabitants": "inhabitant",
}
_NOT_PLURAL: Final = words(
    "is was has its this news series species gas bus us as his headquarters always sales"
)


def singular(word: str) -> str:
    """The word without a plural ending; the same rule on both sides, so it only has to be consistent."""
    if word in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[word]
    if len(word) < 4 or word in _NOT_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]
