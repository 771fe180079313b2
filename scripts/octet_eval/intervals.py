"""How sure a share of right answers is, and whether two runs over the same documents differ."""
import bisect
import math
import random

Z95 = 1.959964
Z80_POWER = 0.841621  # a true difference of the wanted size is found in 80 % of repetitions


def standard_error(right, n):
    """lm-eval's +-: sample standard deviation over sqrt(n). One standard error, not a 95 % interval."""
    p = right / n
    return math.sqrt(p * (1 - p) / (n - 1)) if n > 1 else 0.0


def wilson(right, n):
    """95 % interval of a share; unlike p +- 1.96 SE it stays sensible next to 0 and 1."""
    p, zz = right / n, Z95 * Z95
    centre = (p + zz / (2 * n)) / (1 + zz / n)
    half = Z95 * math.sqrt(p * (1 - p) / n + zz / (4 * n * n)) / (1 + zz / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def mcnemar(b, c):
    """Exact two-sided p of b against c one-sided flips."""
    n = b + c
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(min(b, c) + 1)) / 2 ** n)


def paired_difference(b, c, n):
    """(b - c) / n and its standard error over n documents."""
    return (b - c) / n, math.sqrt(b + c - (b - c) ** 2 / n) / n


def binomial_cdf(n, p):
    if p >= 1:
        return [0.0] * n + [1.0]
    total, cdf = 0.0, []
    for k in range(n + 1):
        if p > 0:
            log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            total += math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p))
        else:
            total = 1.0
        cdf.append(total)
    return cdf


def percentile(ordered, share):
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def bootstrap(b, c, n, repeats=10000, seed=1234):
    """95 % percentile interval of the mean difference and P(difference > 0), documents resampled with replacement.
    Of n documents drawn, the number of flips is binomial, and so is the number of flips in favour of one side:
    two draws say what n draws would, and the distribution is the same."""
    if b + c == 0:
        return 0.0, 0.0, 0.0
    rng, flips_cdf, side_cdfs, differences = random.Random(seed), binomial_cdf(n, (b + c) / n), {}, []
    for _ in range(repeats):
        flips = min(bisect.bisect_left(flips_cdf, rng.random()), n)
        if flips not in side_cdfs:
            side_cdfs[flips] = binomial_cdf(flips, b / (b + c))
        won = min(bisect.bisect_left(side_cdfs[flips], rng.random()), flips)
        differences.append((2 * won - flips) / n)
    differences.sort()
    above = sum(d > 0 for d in differences) / repeats
    return percentile(differences, 0.025), percentile(differences, 0.975), above


def documents_needed(flip_rate, difference=0.01):
    """Documents that show a difference (p < 0.05, 80 % power) at this rate of flips, which cannot be below it."""
    flip_rate = max(flip_rate, difference)
    return math.ceil((Z95 + Z80_POWER) ** 2 * (flip_rate - difference ** 2) / difference ** 2)
