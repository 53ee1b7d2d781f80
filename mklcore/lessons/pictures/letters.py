"""Weight on places and on words, and the accuracy of either, as the place of a word varies more, as a scene."""

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Scene
from mklcore.lessons import letters
from mklcore.lessons.pictures.panels import ROOM, bar_panel, hue, share_axis

LEAST_ACCURACY = 40.0  # per cent at the foot of the axis, below that of guessing


def weighing(story: letters.Letters, dark: bool) -> Scene:
    """Shares of the weight of six bands and of the words, and accuracies with both kinds and with either."""
    tone, blue, orange = style.theme(dark), hue("linear", dark), hue("rbf", dark)
    count, jitters = letters.N_BANDS, [str(j) for j in story.jitters]
    planted = letters.PLACE // letters.BAND
    heights, accuracies = story.shares, (story.both, story.places_only, story.words_only)
    x = scene.steps("places by which the word may move (evenly spaced)", jitters)
    y = share_axis("share of the weight", ROOM)
    parts = (heights[:, planted], heights[:, :count].sum(axis=1) - heights[:, planted], heights[:, count])
    panels = zip(
        parts,
        (blue, tone.grey, orange),
        ("its band", "other bands", "words"),
        ("the band where the word was planted", "the other bands together", "words anywhere"),
        strict=True,
    )
    lines = tuple(
        scene.curve(x, y, range(len(jitters)), values, colour, dark, label=label, name=name)
        for values, colour, label, name in panels
    )
    share = scene.traced(
        "Who has the weight",
        f"Lines: the share of the weight on the words is {style.percent(parts[2][0])} where the word does not move and "
        f"{style.percent(parts[2][-1])} where it moves by up to {jitters[-1]} places.",
        x,
        y,
        lines,
        range(len(jitters)),
    )
    names = [f"band {b + 1}" for b in range(count)] + ["words"]
    colours = [blue if b == planted else tone.grey for b in range(count)] + [orange]
    bars = bar_panel(
        "Weight of every kernel",
        f"Bars: shares of {count} bands of places and of the words. Where the word does not move the largest is band "
        f"{int(heights[0].argmax()) + 1}.",
        ("band of places, and words", "share"),
        names,
        heights,
        ROOM,
        colours,
        [*(str(b + 1) for b in range(count)), "words"],
    )
    y2 = scene.linear("validation accuracy, %", LEAST_ACCURACY, 100.0)
    drawn = tuple(
        scene.curve(x, y2, range(len(jitters)), values, colour, dark, label=label, width=width)
        for values, colour, label, width in zip(
            accuracies, (tone.ink, blue, orange), ("all", "places", "words"), (3, 2, 2), strict=True
        )
    )
    accuracy = scene.traced(
        "With both kinds, and with one alone",
        f"Lines: accuracy on validation rows. Places alone fall from {style.number(story.places_only[0])} to "
        f"{style.number(story.places_only[-1])} %, words alone stay between {style.number(story.words_only.min())} and "
        f"{style.number(story.words_only.max())} %.",
        x,
        y2,
        drawn,
        range(len(jitters)),
    )
    said = tuple(
        f"The words have {style.percent(parts[2][k])} of the weight, the band of the word "
        f"{style.percent(parts[0][k])}. "
        f"Accuracy {style.number(story.both[k])} %; places alone {style.number(story.places_only[k])} %, words alone "
        f"{style.number(story.words_only[k])} %."
        for k in range(len(jitters))
    )
    steps = tuple(f"moves by {j}" for j in jitters)
    return Scene(steps, said, len(jitters) - 1, (share, bars, accuracy))
