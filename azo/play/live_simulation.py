"""Simulations in the tree of one live game: PUCT with virtual loss, compiled by numba.

The batched search of `azo.search` runs many games side by side on the device. For one game the host
descends the tree, and the device only evaluates batches of leaves: `gather` fills a batch, `expand`
takes its predictions. Meanwhile each pending path counts as a visit, and as a loss by the setting
`virtual_loss`, so that the next path differs.

Moves are selected as in `azo.search.selection.puct_action`. Leaves that are finished, solved or
cached need no network and are backed up at once. Bounds pass up as in `azo.search.proofs`: of the
result, or of the final score if the search maximises a share of it. The root makes all its children
at once, so it sees the end of the game two plies ahead.
"""

import numpy as np

from azo.play import host_position
from azo.play.live_tree import DONE, EDGES, LOSS, NEW, NODES, OPEN, UNVISITED, WAITING, WIN
from azo.solver.host import last_squares
from azo.solver.host.kernels import ONE, count, first, jit, legal_moves, play


@jit
def gather(tree, batch, cache, rules, budget, stack, counters):
    """Fills a batch: descends until it is full, a leaf is reached twice, or the budget is used.

    Returns the number of leaves in the batch, and of simulations completed without the network.
    `stack` and `counters` are work space for the solver of leaves.
    """
    num_waiting, num_done = 0, 0
    while num_waiting < len(batch.length) and num_waiting + num_done < budget:
        path = batch.path[num_waiting]
        length = _descend(tree, path, rules, stack, counters)
        node = path[length - 1]
        if tree.state[node] == WAITING:
            break
        if tree.state[node] == NEW and not _open_from_cache(
            tree, node, batch, num_waiting, cache, rules
        ):
            batch.length[num_waiting] = length
            tree.state[node] = WAITING
            for i in range(length):
                tree.virtual[path[i]] += 1
            num_waiting += 1
            continue
        _back_up(tree, path, length, rules)
        num_done += 1
    return num_waiting, num_done


@jit
def expand(tree, batch, num_waiting, predictions, cache, rules):
    """Opens the leaves of a batch, and backs up their values.

    `predictions` is `[L, A + 2]` float32: the logits, then expected result and score.
    """
    for leaf in range(num_waiting):
        path, length = batch.path[leaf], batch.length[leaf]
        node = path[length - 1]
        logits = predictions[leaf, :-2]
        result, score = predictions[leaf, -2], predictions[leaf, -1]
        if len(cache.result):
            row = _row(batch.player[leaf], batch.opponent[leaf], len(cache.result))
            cache.player[row], cache.opponent[row] = batch.player[leaf], batch.opponent[leaf]
            cache.logits[row] = logits
            cache.result[row], cache.score[row] = result, score
        _open(tree, node, logits, result, score, batch.symmetry[leaf], rules)
        for i in range(length):
            tree.virtual[path[i]] -= 1
        _back_up(tree, path, length, rules)


@jit
def _descend(tree, path, rules, stack, counters):
    """Writes the nodes of a path, and returns its length; the last node is not open."""
    node, length = 0, 1
    path[0] = 0
    while tree.state[node] == OPEN:
        edge = _best_edge(tree, node, rules)
        child = tree.child[edge]
        if child == UNVISITED:
            child = _add_node(tree, node, tree.action[edge], rules, stack, counters)
            tree.child[edge] = child
        node = child
        path[length] = node
        length += 1
    return length


@jit
def _best_edge(tree, node, rules):
    begin = tree.first_edge[node]
    mean = tree.value_sum[node] / tree.visits[node]
    unvisited = clip(mean, tree.lower[node], tree.upper[node], rules)
    explore = rules.c_puct * np.sqrt(tree.visits[node] + tree.virtual[node])
    best, best_score = begin, -np.inf
    for edge in range(begin, begin + tree.num_edges[node]):
        child = tree.child[edge]
        visits, q = 0, unvisited
        if child != UNVISITED:
            if rules.has_proofs and -tree.lower[child] <= tree.lower[node]:
                continue  # no better than what is certain
            # Pending paths count as visits, and as `virtual_loss` losses in the value.
            lost = rules.virtual_loss * tree.virtual[child]
            if tree.visits[child] + lost > 0:
                mean = (tree.value_sum[child] + lost) / (tree.visits[child] + lost)
                q = -clip(mean, tree.lower[child], tree.upper[child], rules)
            visits = tree.visits[child] + tree.virtual[child]
        score = q + explore * tree.prior[edge] / (1 + visits)
        if score > best_score:
            best, best_score = edge, score
    return best


@jit
def _add_node(tree, parent, action, rules, stack, counters):
    """Returns the new child node of an action; it is DONE if its bounds are equal."""
    P, O = host_position.after(tree.player[parent], tree.opponent[parent], action, rules.size)
    node = tree.counts[NODES]
    tree.counts[NODES] += 1
    tree.player[node], tree.opponent[node] = P, O
    tree.state[node], tree.visits[node], tree.virtual[node] = NEW, 0, 0
    tree.value_sum[node], tree.score_sum[node], tree.num_edges[node] = 0, 0, 0
    board = rules.board
    empties = board.num_squares - count(P | O)
    lower, upper, score = -rules.most, rules.most, 0
    if _is_over(P, O, board):
        score = last_squares.final_score(P, O, board)
        lower = upper = _bound(score, rules)
    elif empties <= rules.exact_empties:
        score = _exact_score(P, O, empties, board, stack, counters)
        lower = upper = _bound(score, rules)
    elif rules.has_proofs:
        lower, upper, score = _look_ahead(P, O, rules)
    _set_bounds(tree, node, lower, upper)
    if lower == upper:  # the network never evaluates the node
        _set_raw(tree, node, _sign(lower), score / board.num_squares, rules)
    return node


@jit
def _set_bounds(tree, node, lower, upper):
    tree.lower[node], tree.upper[node] = lower, upper
    if lower == upper:
        tree.state[node] = DONE


@jit
def _set_raw(tree, node, result, score, rules):
    tree.raw_value[node] = (1 - rules.score_share) * result + rules.score_share * score
    tree.raw_score[node] = score


@jit
def _is_over(P, O, board):
    return not legal_moves(P, O, board.on_board) and not legal_moves(O, P, board.on_board)


@jit
def _look_ahead(P, O, rules):
    """Returns the bounds of an unfinished game, seen one ply ahead, and the best score there."""
    board = rules.board
    moves = legal_moves(P, O, board.on_board)
    upper, best = -rules.most, -board.num_squares
    if not moves:
        return -rules.most, rules.most, 0
    while moves:
        after_P, after_O = play(P, O, first(moves))
        moves &= moves - ONE
        if _is_over(after_P, after_O, board):
            best = max(best, -last_squares.final_score(after_P, after_O, board))
        else:
            upper = rules.most
    lower = _bound(best, rules)
    return lower, max(lower, upper), best


@jit
def _bound(score, rules):
    """Returns a final score in the unit of the bounds."""
    return score if rules.score_share > 0 else _sign(score)


@jit
def _sign(score):
    return WIN if score > 0 else LOSS if score < 0 else 0


@jit
def _exact_score(P, O, empties, board, stack, counters):
    """Returns the score under perfect play, by null windows from 0 on (MTD(f))."""
    lowest, highest, alpha = -board.num_squares, board.num_squares, 0
    while lowest < highest:
        score = last_squares.few(P, O, alpha, empties, board, stack, counters)
        if score > alpha:
            lowest = alpha = score
        else:
            highest, alpha = score, score - 1
    return lowest


@jit
def _open_from_cache(tree, node, batch, leaf, cache, rules):
    """Opens a node by its cached prediction; without one, adds it to the batch, returns False."""
    P, O, symmetry = tree.player[node], tree.opponent[node], 0
    if len(cache.result):
        P, O, symmetry = host_position.canonical(P, O, rules.size)
        row = _row(P, O, len(cache.result))
        if cache.player[row] == P and cache.opponent[row] == O:
            result, score = cache.result[row], cache.score[row]
            _open(tree, node, cache.logits[row], result, score, symmetry, rules)
            return True
    batch.player[leaf], batch.opponent[leaf] = P, O
    batch.symmetry[leaf] = symmetry
    return False


@jit
def _open(tree, node, logits, result, score, symmetry, rules):
    """Adds a node's edges, one for each legal move."""
    begin = tree.counts[EDGES]
    num = 0
    legal = legal_moves(tree.player[node], tree.opponent[node], rules.board.on_board)
    if not legal:
        tree.action[begin] = rules.size * rules.size
        num = 1
    while legal:
        square = np.int64(first(legal))
        legal &= legal - ONE
        tree.action[begin + num] = square // 8 * rules.size + square % 8
        num += 1
    highest = -np.inf
    for edge in range(begin, begin + num):
        turned = host_position.turned_action(np.int64(tree.action[edge]), symmetry, rules.size)
        tree.prior[edge] = logits[turned] / rules.temperature
        tree.child[edge] = UNVISITED
        highest = max(highest, tree.prior[edge])
    total = 0.0
    for edge in range(begin, begin + num):
        tree.prior[edge] = np.exp(tree.prior[edge] - highest)
        total += tree.prior[edge]
    for edge in range(begin, begin + num):
        tree.prior[edge] /= total
    tree.counts[EDGES] += num
    tree.first_edge[node], tree.num_edges[node] = begin, num
    _set_raw(tree, node, result, score, rules)
    tree.state[node] = OPEN


@jit
def _back_up(tree, path, length, rules):
    leaf = path[length - 1]
    value, score = np.float64(tree.raw_value[leaf]), np.float64(tree.raw_score[leaf])
    for i in range(length - 1, -1, -1):
        node = path[i]
        if tree.lower[node] > -rules.most or tree.upper[node] < rules.most:
            # With a proven move that is better than this path, the side would play that one.
            value, score = _inside(value, score, tree.lower[node], tree.upper[node], rules)
        tree.visits[node] += 1
        tree.value_sum[node] += value
        tree.score_sum[node] += score
        value, score = -value, -score
    if rules.has_proofs and (tree.lower[leaf] > -rules.most or tree.upper[leaf] < rules.most):
        i = length - 2
        while i >= 0 and _tighten(tree, path[i], rules):
            i -= 1


@jit
def _inside(value, score, lower, upper, rules):
    """Returns the nearest value and score in [-1, 1] that two bounds allow."""
    if rules.score_share > 0:
        num_squares = rules.board.num_squares
        score = min(max(score, lower / num_squares), upper / num_squares)
    return clip(value, lower, upper, rules), score


@jit
def _tighten(tree, node, rules):
    """Tightens the bounds of an open node by those of its children; returns whether it did."""
    lower, upper = -rules.most, -rules.most
    begin = tree.first_edge[node]
    for edge in range(begin, begin + tree.num_edges[node]):
        child = tree.child[edge]
        if child == UNVISITED:
            upper = rules.most
        else:
            lower, upper = max(lower, -tree.upper[child]), max(upper, -tree.lower[child])
    lower, upper = max(lower, tree.lower[node]), min(upper, tree.upper[node])
    if lower == tree.lower[node] and upper == tree.upper[node]:
        return False
    _set_bounds(tree, node, lower, upper)
    return True


@jit
def clip(value, lower, upper, rules):
    """Returns a value moved between those of two bounds."""
    return min(max(value, value_of(lower, rules)), value_of(upper, rules))


@jit
def value_of(bound, rules):
    """Returns the value of a bound: the result, with its share of the final score."""
    share = rules.score_share
    return (1 - share) * _sign(bound) + share * bound / rules.board.num_squares


@jit
def expand_root(tree, rules, stack, counters):
    """Makes all children of an open root, and tightens its bounds by theirs."""
    if not tree.num_edges[0]:
        return
    begin = tree.first_edge[0]
    for edge in range(begin, begin + tree.num_edges[0]):
        if tree.child[edge] == UNVISITED:
            tree.child[edge] = _add_node(tree, 0, tree.action[edge], rules, stack, counters)
    _tighten(tree, 0, rules)


@jit
def _row(P, O, num_rows):
    mixed = P * np.uint64(0x9E3779B97F4A7C15) ^ O * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(num_rows - 1))
