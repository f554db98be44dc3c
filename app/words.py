"""One sentence for each term that the window uses."""

from __future__ import annotations

SPEED = (
    "Tokens per second while answering, the wait for the first one not counted. A token is a piece of a word."
)
FIRST_TOKEN = (
    "Time to first token, on the lane's own clock: from the moment when the model starts to read the prompt to "
    "the first piece of the answer."
)
PER_TOKEN = "Time per token: the mean time between two tokens after the first."
TOKENS = "How many tokens the answer has so far."
PASSES = "How many passes of the model the answer took after the prompt was read: the fewer, the faster."
PER_PASS = (
    "Mean accepted length: how many tokens one pass of the model gave on average. "
    "Without speculation it is always 1."
)
ACCEPTANCE = "Acceptance rate: of all tokens that were guessed ahead, the share that the model agreed with."
LOSSLESS = (
    "The model checks every guess, so speculation does not change what it answers. Only where two tokens are "
    "almost equally likely may the answers part: computers round differently in long and in short passes."
)
FAIR = (
    "The two lanes take turns, one pass each, and each one's clock counts only its own turns. "
    "So neither slows the other, and the figures are those of lanes that ran alone."
)
MODEL = "The model whose answer counts (the target), a file in GGUF format."
DRAFTING = (
    "Who guesses ahead (the drafter): nobody, a look-up of words that were there before (n-gram, which needs "
    "no second model), a small model of the same vocabulary, or a head that was trained for this model (MTP, EAGLE-3, "
    "DFlash, DSpark), inside it or in a file of its own."
)
NGRAM_BESIDE = (
    "Words that were there before are looked up first, which costs next to nothing; where none match, the drafter is "
    "asked. Good for text that repeats itself."
)
DRAFT_LENGTH = (
    "How many tokens are guessed ahead before the model checks them in one pass. Auto decides before each pass what "
    "will most likely be fastest, from what passes cost on this computer and how often guesses were right; where "
    "guessing does not pay, it guesses nothing. 0 never guesses. With n-gram a number is the most: a match of m tokens "
    "that were there before gives at most m − 1 guesses."
)
TEMPERATURE = "0 always takes the likeliest token; higher values make the answer more varied."
MAX_TOKENS = "The answer ends after so many tokens at the latest."
SEED = "The same number gives the same random choices again; empty takes another one each time."
CONTEXT = "How much of the conversation the model can see at once, in tokens."
CONTEXT_CHOICE = (
    "How much of the conversation the model can see at once, in tokens; more takes more memory. Auto: what the "
    "model was made for, at most 8,192. A change loads the model again with the next run."
)
