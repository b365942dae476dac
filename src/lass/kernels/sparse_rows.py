"""Compiled loops for rows that are explicit entries plus one background value.

A tuple ``begins, ends, names, values, background`` holds rows: n has
``values[begins[n]:ends[n]]`` at the categories ``names[...]`` and
``background[n]`` at all others. That form is closed under sums of rows and under
the projection onto the simplex, so no loop here ever touches K numbers a row:
a row costs what it and its neighbours store.

Conventions of :mod:`lass.kernels.dense_rows`: each kernel works on the rows from low to
high. Kernels that write rows pack those of one slice one after the other from
``slots[low]`` on; when ``slots[high]`` is reached, the rest is not written but counted, and the caller
repeats with more space.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_exactly_with_caller, compiled_with_caller


@compiled_with_caller
def _gather(weight, n, rows, place, found, sums, count):  # type: ignore[no-untyped-def]
    """Add weight times (row n - its background) to the sums of what was found so far; returns how many."""
    begins, ends, names, values, background = rows
    base = background[n]
    for i in range(begins[n], ends[n]):
        k = names[i]
        at = place[k]
        if at < 0:
            at = count
            place[k], found[at], sums[at] = at, k, 0.0
            count += 1
        sums[at] += weight * (values[i] - base)
    return count


@compiled_with_caller
def _as_rows(starts, where, affinities):  # type: ignore[no-untyped-def]
    """Affinities as rows whose background is zero."""
    return starts[:-1], starts[1:], where, affinities, np.zeros(len(starts) - 1)


# in another order, the largest of huge entries would be rounded to a share of zero
@compiled_exactly_with_caller
def _threshold(sums, count, base, rest):  # type: ignore[no-untyped-def]
    """What the projection onto the simplex subtracts, in two parts: the largest entry, and the remainder.

    ``rest`` entries have the value ``base``. Passes as in ``to_simplex``: only entries within
    one of the largest matter, and it ends as soon as their number does not shrink.
    """
    top = base if rest > 0 else sums[0]
    for i in range(count):
        top = max(top, sums[i])
    lower = -1.0
    before = np.inf
    while True:
        total, kept = 0.0, 0.0
        for i in range(count):
            up = sums[i] - top
            if up > lower:
                total += up
                kept += 1.0
        if rest > 0 and base - top > lower:
            total += rest * (base - top)
            kept += rest
        if kept >= before:
            return top, lower
        before = kept
        lower = (total - 1.0) / kept


@compiled_exactly_with_caller
def _project(found, sums, count, base, size, cut, place):  # type: ignore[no-untyped-def]
    """Project a row onto the simplex, entries within ``cut`` of its background merged into it.

    The best row of all with that background: merged entries take the mean of
    their class first, and are projected with it. Returns how many entries
    are left, in order, at the start of found and sums, and the background. Clears those merged.
    """
    rest = size - count
    top, lower = _threshold(sums, count, base, rest)
    level = max(base - top - lower, 0.0) if rest > 0 else 0.0
    if rest > 0 or cut > 0.0:
        kept, merged, changed = 0, 0.0, False
        for i in range(count):
            share = max(sums[i] - top - lower, 0.0)
            if abs(share - level) <= cut:
                merged += sums[i]
                changed = changed or share != level or level > 0.0
                place[found[i]] = -1
            else:
                found[kept], sums[kept] = found[i], sums[i]
                place[found[kept]] = kept
                kept += 1
        if kept < count and changed:
            base = (rest * base + merged) / (size - kept)
            top, lower = _threshold(sums, kept, base, size - kept)
            level = max(base - top - lower, 0.0)
        count, rest = kept, size - kept
    total = rest * level
    for i in range(count):
        share = max(sums[i] - top - lower, 0.0)
        total += share
    if total > 0.0:
        for i in range(count):
            sums[i] = max(sums[i] - top - lower, 0.0) / total
        return count, level / total
    # entries beyond double precision: those that are largest have all
    total = float(rest) if base == top and rest > 0 else 0.0
    for i in range(count):
        total += 1.0 if sums[i] == top else 0.0
    for i in range(count):
        sums[i] = 1.0 / total if sums[i] == top else 0.0
    return count, 1.0 / total if base == top and rest > 0 else 0.0


@compiled_with_caller
def _write(n, at, end, place, found, sums, count, level, rows):  # type: ignore[no-untyped-def]
    """Write a row from position ``at`` on, clear ``place``; returns the next free one, -1 without space."""
    begins, ends, names, values, background = rows
    if at + count > end:
        return -1
    begins[n] = at
    for i in range(count):
        place[found[i]] = -1
        if sums[i] != level:
            names[at], values[at] = found[i], sums[i]
            at += 1
    ends[n] = at
    background[n] = level
    return at


@compiled("Tuple((i8, f8))(i8, i8, csr, vector, csr, i8, vector, sparse, integers, sparse)")
def sweep(  # type: ignore[no-untyped-def]
    low, high, pointers, columns, weights, inverse, starts, where, affinities, size, cuts, Z, slots, out
):  # fmt: skip
    """Put the rows of a slice at their best one after the other, each using what the ones before became.

    Row n becomes the projection of inverse_n (sum_m w_nm z_m + h_n), entries within cuts_n of
    the background merged into it; rows whose inverse is zero stay. Neighbours in other
    slices are read as they were: the objective still never rises. Returns how many rows found
    no space, and 0.
    """
    place, found, sums = np.full(size, -1, np.int32), np.empty(size, np.int32), np.empty(size)
    (begins, _, _, values, background), G = Z, _as_rows(starts, where, affinities)
    at, end = slots[low], slots[high]
    for n in range(low, high):
        count, base = 0, 0.0
        if inverse[n] == 0.0:
            count, level = _gather(1.0, n, Z, place, found, sums, 0), background[n]
            for i in range(count):
                sums[i] = values[begins[n] + i]
        else:
            for j in range(pointers[n], pointers[n + 1]):
                m, weight = columns[j], inverse[n] * weights[j]
                if low <= m < n:
                    base += weight * out[4][m]
                    count = _gather(weight, m, out, place, found, sums, count)
                else:
                    base += weight * background[m]
                    count = _gather(weight, m, Z, place, found, sums, count)
            count = _gather(inverse[n], n, G, place, found, sums, count)
            for i in range(count):
                sums[i] += base
            count, level = _project(found, sums, count, base, size, cuts[n], place)
        at = _write(n, at, end, place, found, sums, count, level, out)
        if at < 0:
            return high - n, 0.0
    return 0, 0.0


@compiled_with_caller
def _distance(n, rows, found, sums, count, level, size, place, matched):  # type: ignore[no-untyped-def]
    """Euclidean distance of row n from one with these entries and this background."""
    begins, ends, names, values, background = rows
    base, total, both = background[n], 0.0, 0
    matched[:count] = False
    for i in range(begins[n], ends[n]):
        at = place[names[i]]
        if at >= 0:
            matched[at] = True
            both += 1
        total += ((sums[at] if at >= 0 else level) - values[i]) ** 2
    for i in range(count):
        if not matched[i]:
            total += (sums[i] - base) ** 2
    stored = count + ends[n] - begins[n] - both
    return np.sqrt(total + (size - stored) * (level - base) ** 2)


@compiled("Tuple((integers, sparse, vector))(integers, csr, vector, csr, f8, i8, f8, f8, i8, i8, sparse)")
def relax(  # type: ignore[no-untyped-def]
    rows, pointers, columns, weights, inverse, starts, where, affinities, half, size, cut, least,
    most_rows, most_steps, Z,
):  # fmt: skip
    """Put rows at their best, then those that these may move by more than ``least``, first come first served.

    The best is that of :func:`sweep`, with the affinities times ``half``. A row that moves by some distance
    moves the best of a neighbour m by at most inverse_m w_mn times that, as projections do not expand: so
    much *reaches* m. Rows given are always written, others if they move by more than ``least``. Ends after
    ``most_steps`` rows; at most ``most_rows`` different ones are written. Returns which, what they became,
    and how much reached each row in all.
    """
    N = len(inverse)
    place, found, sums = np.full(size, -1, np.int32), np.empty(size, np.int32), np.empty(size)
    matched, G = np.empty(size, np.bool_), _as_rows(starts, where, affinities)
    slot, queue, waits = np.full(N, -1, np.int32), np.empty(N, np.int32), np.zeros(N, np.bool_)
    waiting, reached = np.zeros(N), np.zeros(N)
    moved, room = np.empty(most_rows, np.int64), np.zeros(most_rows, np.int64)
    begins, ends = np.zeros(most_rows, np.int64), np.zeros(most_rows, np.int64)
    background = np.zeros(most_rows)
    names, values = np.empty(4096, np.int32), np.empty(4096)
    used, end, first, last, steps = 0, 0, 0, 0, 0
    for n in rows:
        if inverse[n] > 0.0 and not waits[n]:
            queue[last], waits[n], waiting[n] = n, True, np.inf
            last += 1
    many = last
    last %= N
    while many > 0 and steps < most_steps:
        n = queue[first]
        first, many, waits[n] = (first + 1) % N, many - 1, False
        must = waiting[n] == np.inf
        if slot[n] < 0 and used == most_rows:
            continue
        steps += 1
        out, count, base = (begins, ends, names, values, background), 0, 0.0
        for j in range(pointers[n], pointers[n + 1]):
            m, weight = columns[j], inverse[n] * weights[j]
            at = slot[m]
            if at >= 0:
                base += weight * background[at]
                count = _gather(weight, at, out, place, found, sums, count)
            else:
                base += weight * Z[4][m]
                count = _gather(weight, m, Z, place, found, sums, count)
        count = _gather(inverse[n] * half, n, G, place, found, sums, count)
        for i in range(count):
            sums[i] += base
        count, level = _project(found, sums, count, base, size, cut, place)
        at = slot[n]
        if at >= 0:
            step = _distance(at, out, found, sums, count, level, size, place, matched)
        else:
            step = _distance(n, Z, found, sums, count, level, size, place, matched)
        waiting[n] = 0.0 if must or step > least else step
        if not must and step <= least:
            for i in range(count):
                place[found[i]] = -1
            continue
        if at < 0:
            at = used
            slot[n], moved[at], used = at, n, used + 1
        if count > room[at]:
            begins[at], room[at] = end, count
            end += count
        if end > len(names):
            more_names, more_values = np.empty(2 * end, np.int32), np.empty(2 * end)
            more_names[: len(names)], more_values[: len(values)] = names, values
            names, values = more_names, more_values
        out = (begins, ends, names, values, background)
        _write(at, begins[at], begins[at] + count, place, found, sums, count, level, out)
        for j in range(pointers[n], pointers[n + 1]):
            m = columns[j]
            part = inverse[m] * weights[j] * step
            waiting[m] += part
            reached[m] += part
            if waiting[m] > least and not waits[m] and inverse[m] > 0.0:
                queue[last], waits[m] = m, True
                last, many = (last + 1) % N, many + 1
    return moved[:used], (begins[:used], ends[:used], names[:end], values[:end], background[:used]), reached


@compiled("Tuple((i8, f8))(i8, i8, i8, f8, vector, sparse, sparse, sparse, integers, sparse)")
def extrapolate(low, high, size, momentum, inverse, Z, Z0, Y1, slots, out):  # type: ignore[no-untyped-def]
    """Y = Z + momentum (Z - Z0), not projected.

    Returns how many rows found no space, and sum_n <y1_n - z_n, z_n - z0_n> / inverse_n for the last
    Y1: positive means that the momentum points uphill and should be dropped.
    """
    place, found = np.full(size, -1, np.int32), np.empty(size, np.int32)
    sums, change, last = np.empty(size), np.empty(size), np.empty(size)
    background, (begins0, ends0, names0, values0, background0) = Z[4], Z0
    begins1, ends1, names1, values1, background1 = Y1
    at, end, uphill = slots[low], slots[high], 0.0
    for n in range(low, high):
        count = _gather(1.0, n, Z, place, found, sums, 0)
        count = _gather(0.0, n, Z0, place, found, sums, count)
        count = _gather(0.0, n, Y1, place, found, sums, count)
        step, ahead = background[n] - background0[n], background1[n] - background[n]
        for i in range(count):
            sums[i] += background[n]
            change[i], last[i] = sums[i] - background0[n], background1[n] - sums[i]
        for i in range(begins0[n], ends0[n]):
            change[place[names0[i]]] += background0[n] - values0[i]
        for i in range(begins1[n], ends1[n]):
            last[place[names1[i]]] += values1[i] - background1[n]
        score = (size - count) * step * ahead
        for i in range(count):
            score += change[i] * last[i]
            sums[i] += momentum * change[i]
        if inverse[n] > 0.0:
            uphill += score / inverse[n]
        level = background[n] + momentum * step
        at = _write(n, at, end, place, found, sums, count, level, out)
        if at < 0:
            return high - n, uphill
    return 0, uphill


@compiled("void(i8, i8, integers, csr, vector, csr, i8, f8, sparse, matrix)")
def certify(  # type: ignore[no-untyped-def]
    low, high, rows, pointers, columns, weights, a, starts, where, affinities, size, scale, Z, out
):  # fmt: skip
    """Objective and gap of some rows, for grad = scale A Z - G over all categories.

    ``out[0]`` is scale <z_n, A z_n> / 2 - <g_n, z_n> and ``out[1]`` is <grad_n, z_n> - min_k grad_nk of the n
    that ``rows`` names. Categories that neither the row nor its neighbours store, and that no affinity names,
    share one gradient.
    """
    place, found = np.full(size, -1, np.int32), np.empty(size, np.int32)
    gradient, own = np.empty(size), np.empty(size)
    (begins, _, _, values, background), G = Z, _as_rows(starts, where, affinities)
    for row in range(low, high):
        n, quadratic, linear = rows[row], 0.0, 0.0
        base, level = scale * a[n] * background[n], background[n]
        mine = count = _gather(scale * a[n], n, Z, place, found, gradient, 0)
        for i in range(count):
            own[i] = values[begins[n] + i]
        for j in range(pointers[n], pointers[n + 1]):
            m, weight = columns[j], -scale * weights[j]
            base += weight * background[m]
            count = _gather(weight, m, Z, place, found, gradient, count)
        own[mine:count] = level
        for i in range(count):
            quadratic += (gradient[i] + base) * own[i]
        quadratic += (size - count) * base * level
        mentioned = count
        count = _gather(-1.0, n, G, place, found, gradient, count)
        own[mentioned:count] = level
        for i in range(starts[n], starts[n + 1]):
            linear += affinities[i] * own[place[where[i]]]
        least = base if count < size else gradient[0] + base
        for i in range(count):
            gradient[i] += base
            least = min(least, gradient[i])
        gap = (size - count) * (base - least) * level
        for i in range(count):
            gap += (gradient[i] - least) * own[i]
        out[0, row], out[1, row] = 0.5 * quadratic - linear, gap
        for i in range(count):
            place[found[i]] = -1


@compiled("void(i8, i8, i8, sparse, i4[:, ::1], matrix)")
def top(low, high, size, Z, best, shares):  # type: ignore[no-untyped-def]
    """The largest entries of each row, the largest first, of equal ones that of the lowest number.

    Names must be sorted. Those above the background first, then categories that are
    not stored, then those below.
    """
    begins, ends, names, values, background = Z
    wanted = best.shape[1]
    for n in range(low, high):
        mine, own, level = names[begins[n] : ends[n]], values[begins[n] : ends[n]], background[n]
        order = np.argsort(-own, kind="mergesort")
        at, taken = 0, 0
        while taken < wanted and at < order.shape[0] and own[order[at]] > level:
            best[n, taken], shares[n, taken] = mine[order[at]], own[order[at]]
            at, taken = at + 1, taken + 1
        k, passed = 0, 0
        while taken < wanted and k < size:
            if passed < mine.shape[0] and mine[passed] == k:
                passed += 1
            else:
                best[n, taken], shares[n, taken] = k, level
                taken += 1
            k += 1
        while taken < wanted:
            best[n, taken], shares[n, taken] = mine[order[at]], own[order[at]]
            at, taken = at + 1, taken + 1


@compiled("Tuple((i8, f8))(i8, i8, csr, csr, i8, f8, f8, sparse, integers, sparse)")
def assign(  # type: ignore[no-untyped-def]
    low, high, pointers, columns, weights, starts, where, affinities, size, half, cut, Z, slots, out
):  # fmt: skip
    """New rows: the projection of the mean of the neighbours plus half / degree times the affinities.

    Without neighbours, or where half is infinite and there are affinities, the largest of them, ties
    shared. Without affinities or where half is zero, the mean itself. Returns how many rows found no
    space, and 0.
    """
    place, found, sums = np.full(size, -1, np.int32), np.empty(size, np.int32), np.empty(size)
    at, end, G = slots[low], slots[high], _as_rows(starts, where, affinities)
    for n in range(low, high):
        degree, most, least = 0.0, -np.inf, np.inf
        for j in range(pointers[n], pointers[n + 1]):
            degree += weights[j]
        for i in range(starts[n], starts[n + 1]):
            most, least = max(most, affinities[i]), min(least, affinities[i])
        if starts[n + 1] - starts[n] < size:
            most, least = max(most, 0.0), min(least, 0.0)
        count, level = 0, 1.0 / size
        if most > least and (degree == 0.0 or half == np.inf):
            count = _gather(1.0, n, G, place, found, sums, 0)
            equal = size - count if most == 0.0 else 0
            for i in range(count):
                equal += 1 if sums[i] == most else 0
            for i in range(count):
                sums[i] = 1.0 / equal if sums[i] == most else 0.0
            level = 1.0 / equal if most == 0.0 and count < size else 0.0
        elif degree > 0.0:
            base = 0.0
            for j in range(pointers[n], pointers[n + 1]):
                m, weight = columns[j], weights[j] / degree
                base += weight * Z[4][m]
                count = _gather(weight, m, Z, place, found, sums, count)
            if most > least and half > 0.0:
                count = _gather(half / degree, n, G, place, found, sums, count)
            for i in range(count):
                sums[i] += base
            count, level = _project(found, sums, count, base, size, cut, place)
        at = _write(n, at, end, place, found, sums, count, level, out)
        if at < 0:
            return high - n, 0.0
    return 0, 0.0
