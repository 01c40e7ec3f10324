"""Whether higher or lower values of a metric are better, as far as the words of its name say.

`val_log_loss` and `Latency (ms)` are lower-is-better, `closeness` and `terrain` say nothing.
"""

import re

from evalkit.catalogue import lookup

LOW = """
    abandonment abs_error absolute_error average_rank avg_rank bounce_rate bpb bpc cer churn cost costs crash crashes
    cross_entropy crossentropy crps defect defects delay der deviance divergence duration ece edit_distance eer elapsed
    emissions err error errors failed failure failures false_alarm false_discovery false_negatives false_positives fdr
    fid hallucination hallucinations jensen_shannon kl latencies latency levenshtein loss losses mce mdape mean_rank
    median_rank miss_rate mistake mistakes msle negative_log_likelihood nll nmse nrmse perplexity ppl regret risk rmsle
    rtf runtime slowdown squared_error surprisal ter time toxicity violation violations wait waiting wer wmape xent
"""
HIGH = """
    acc accepted agreement auprc auroc avoided bertscore bleu bleurt chrf cider click clicks comet completed concordance
    conversion conversions converted correct correlation ctr dice dwell_time elbo em engagement exact_match faithfulness
    gain gains helpfulness hit hits improvement iou kendall lifetime_value likelihood log_likelihood ltv meteor on_time
    order orders pass_rate passed pearson plays preference profit psnr purchase purchases qps quality reduction
    relevance retained retention revenue reward rouge sale sales satisfaction saved saving savings session_duration
    session_time similarity solved spearman speedup spice ssim success successes throughput time_on_page time_on_site
    time_spent uptime utility visit visits watch_duration watch_time win win_rate wins won
"""
UNCLEAR = {"err", "top"}  # `err` is an error or the expected reciprocal rank
ROWS = {name: row.best for table in lookup.TABLES.values() for name, row in table.items()}
CATALOGUE = ROWS | {alias: ROWS[name] for alias, name in lookup.ALIASES.items()}
KNOWN = {name: best for name, best in CATALOGUE.items() if best != "neither" and len(name) > 1 and name not in UNCLEAR}
KNOWN |= dict.fromkeys(HIGH.split(), "high") | dict.fromkeys(LOW.split(), "low")
LONGEST_FIRST = "|".join(sorted(KNOWN, key=len, reverse=True))
PHRASE = re.compile(rf"(?:^|(?<=_))({LONGEST_FIRST})(?=_|$)")
TURNED = re.compile(rf"(neg|negative|negated|minus|inverse|inv)_|1_(?=({LONGEST_FIRST})$)")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
OTHER = {"low": "high", "high": "low"}


def of(name: str) -> str | None:
    """Return "high" or "low", which values the name says are better; None where it says nothing, or both.

    >>> [of(name) for name in ("log_loss", "val WER", "latency_ms", "neg_log_loss", "ndcg@10", "accuracyTop1", "score")]
    ['low', 'low', 'low', 'high', 'high', 'high', 'high']
    >>> [of(name) for name in ("closeness", "terrain", "value", "minutes", "cost_reduction", "err")]
    [None, None, None, None, None, None]
    """
    base = name.split("@")[0].strip()
    words, minus = "_".join(WORD.findall(base)).lower(), base.startswith(("-", "−"))
    exact = next((known for known in (base.lower(), words) if known in CATALOGUE and not minus), None)
    if exact:
        return CATALOGUE[exact] if CATALOGUE[exact] != "neither" and exact not in UNCLEAR else None
    sides = {KNOWN[phrase] for phrase in PHRASE.findall(words)} or {
        "high" for word in words.split("_") if word == "score"
    }
    if len(sides) != 1:
        return None
    turned = minus or (words not in KNOWN and TURNED.match(words))
    return OTHER[sides.pop()] if turned else sides.pop()
