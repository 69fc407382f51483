"""Simulations in the tree of one live game: PUCT with virtual visits, compiled by numba.

The batched search of `azo.search` runs many games side by side on the device. For one game the host
descends the tree, and the device only evaluates batches of leaves: `gather` fills a batch, `expand`
takes its predictions. Meanwhile each pending path counts as a visit, so that the next path differs.

Moves are selected as in `azo.search.puct`. Leaves that are finished or solved need
no network and are backed up at once. Bounds pass up as in `azo.search.proofs`: of the
result, or of the final score if the search maximises a share of it. The root makes all its children
at once, so it sees the end of the game two plies ahead.
"""

import numpy as np

from azo.engine.live_tree import DONE, EDGES, LOSS, NEW, NODES, OPEN, UNVISITED, WAITING, WIN
from azo.games.host import host_rules
from azo.games.host.kernels import ONE, count, first, jit, legal_moves, play
from azo.solver.host import last_squares


@jit
def gather(tree, batch, context, budget):
    """Fills a batch: descends until it is full, a leaf is reached twice, or the budget is used.

    Returns the number of leaves in the batch, and of simulations completed without the network.
    """
    num_waiting, num_done = 0, 0
    while num_waiting < len(batch.length) and num_waiting + num_done < budget:
        path = batch.path[num_waiting]
        length = _descend(tree, path, context)
        leaf = tree.nodes[path[length - 1]]
        if leaf.state == WAITING:
            break
        if leaf.state == NEW:
            batch.player[num_waiting], batch.opponent[num_waiting] = leaf.player, leaf.opponent
            batch.length[num_waiting] = length
            leaf.state = WAITING
            for i in range(length):
                tree.nodes[path[i]].virtual += 1
            num_waiting += 1
            continue
        _back_up(tree, path, length, context)
        num_done += 1
    return num_waiting, num_done


@jit
def expand(tree, batch, num_waiting, predictions, context):
    """Opens the leaves of a batch, and backs up their values.

    `predictions` is `[L, A + 2]` float32, see `Evaluator.request`.
    """
    for leaf in range(num_waiting):
        path, length = batch.path[leaf], batch.length[leaf]
        node = tree.nodes[path[length - 1]]
        _open(tree, node, predictions[leaf], context)
        for i in range(length):
            tree.nodes[path[i]].virtual -= 1
        _back_up(tree, path, length, context)


@jit
def _descend(tree, path, context):
    """Writes the nodes of a path, and returns its length; the last node is not open."""
    node, length = 0, 1
    path[0] = 0
    while tree.nodes[node].state == OPEN:
        edge = tree.edges[_best_edge(tree, node, context)]
        if edge.child == UNVISITED:
            edge.child = _add_node(tree, tree.nodes[node], edge.action, context)
        node = edge.child
        path[length] = node
        length += 1
    return length


@jit
def _best_edge(tree, node, context):
    parent = tree.nodes[node]
    begin = parent.first_edge
    mean = parent.value_sum / parent.visits
    unvisited = clip(mean, parent.lower, parent.upper, context)
    explore = context.c_puct * np.sqrt(parent.visits + parent.virtual)
    best, best_score = begin, -np.inf
    for i in range(begin, begin + parent.num_edges):
        edge = tree.edges[i]
        visits, q = 0, unvisited
        if edge.child != UNVISITED:
            child = tree.nodes[edge.child]
            if context.has_proofs and -child.lower <= parent.lower:
                continue  # no better than what is certain
            if child.visits > 0:
                q = -clip(child.value_sum / child.visits, child.lower, child.upper, context)
            visits = child.visits + child.virtual
        score = q + explore * edge.prior / (1 + visits)
        if score > best_score:
            best, best_score = i, score
    return best


@jit
def _add_node(tree, parent, action, context):
    """Returns the new child node of an action; it is DONE if its bounds are equal."""
    P, O = host_rules.after(parent.player, parent.opponent, action, context.size)
    number = tree.counts[NODES]
    tree.counts[NODES] += 1
    node = tree.nodes[number]
    node.player, node.opponent = P, O  # all else is 0 until now: NEW, without visits
    board = context.board
    empties = board.num_squares - count(P | O)
    lower, upper, score = -context.max_bound, context.max_bound, 0
    if host_rules.is_over(P, O, board):
        score = host_rules.final_score(P, O, board)
        lower = upper = _bound(score, context)
    elif empties <= context.exact_empties:
        score = _exact_score(P, O, empties, board, context)
        lower = upper = _bound(score, context)
    elif context.has_proofs:
        lower, upper, score = _look_ahead(P, O, context)
    _set_bounds(node, lower, upper)
    if lower == upper:  # the network never evaluates the node
        _set_raw(node, _sign(lower), score / board.num_squares, context)
    return number


@jit
def _set_bounds(node, lower, upper):
    node.lower, node.upper = lower, upper
    if lower == upper:
        node.state = DONE


@jit
def _set_raw(node, result, score, context):
    node.raw_value = (1 - context.score_share) * result + context.score_share * score
    node.raw_score = score


@jit
def _look_ahead(P, O, context):
    """Returns the bounds of an unfinished game, seen one ply ahead, and the best score there."""
    board = context.board
    moves = legal_moves(P, O, board.on_board)
    upper, best = -context.max_bound, -board.num_squares
    if not moves:
        return -context.max_bound, context.max_bound, 0
    while moves:
        after_P, after_O = play(P, O, first(moves))
        moves &= moves - ONE
        if host_rules.is_over(after_P, after_O, board):
            best = max(best, -host_rules.final_score(after_P, after_O, board))
        else:
            upper = context.max_bound
    lower = _bound(best, context)
    return lower, max(lower, upper), best


@jit
def _bound(score, context):
    """Returns a final score in the unit of the bounds."""
    return score if context.score_share > 0 else _sign(score)


@jit
def _sign(score):
    return WIN if score > 0 else LOSS if score < 0 else 0


@jit
def _exact_score(P, O, empties, board, context):
    """Returns the score under perfect play, by null windows from 0 on (MTD(f))."""
    lowest, highest, alpha = -board.num_squares, board.num_squares, 0
    while lowest < highest:
        score = last_squares.few(P, O, alpha, empties, board, context.stack, context.counters)
        if score > alpha:
            lowest = alpha = score
        else:
            highest, alpha = score, score - 1
    return lowest


@jit
def _open(tree, node, prediction, context):
    """Adds a node's edges, one for each legal move."""
    begin = end = tree.counts[EDGES]
    legal = legal_moves(node.player, node.opponent, context.board.on_board)
    if not legal:
        tree.edges[end].action = context.size * context.size
        end += 1
    while legal:
        square = np.int64(first(legal))
        legal &= legal - ONE
        tree.edges[end].action = host_rules.action_of(square, context.size)
        end += 1
    highest = -np.inf
    for i in range(begin, end):
        edge = tree.edges[i]
        edge.prior = prediction[edge.action] / context.temperature
        edge.child = UNVISITED
        highest = max(highest, edge.prior)
    total = 0.0
    for i in range(begin, end):
        tree.edges[i].prior = np.exp(tree.edges[i].prior - highest)
        total += tree.edges[i].prior
    for i in range(begin, end):
        tree.edges[i].prior /= total
    tree.counts[EDGES] = end
    node.first_edge, node.num_edges = begin, end - begin
    _set_raw(node, prediction[-2], prediction[-1], context)
    node.state = OPEN


@jit
def _back_up(tree, path, length, context):
    leaf, max_bound = tree.nodes[path[length - 1]], context.max_bound
    value, score = np.float64(leaf.raw_value), np.float64(leaf.raw_score)
    for i in range(length - 1, -1, -1):
        node = tree.nodes[path[i]]
        if node.lower > -max_bound or node.upper < max_bound:
            # With a proven move that is better than this path, the side would play that one.
            value = clip(value, node.lower, node.upper, context)
            if context.score_share > 0:
                num_squares = context.board.num_squares
                score = min(max(score, node.lower / num_squares), node.upper / num_squares)
        node.visits += 1
        node.value_sum += value
        node.score_sum += score
        value, score = -value, -score
    if context.has_proofs and (leaf.lower > -max_bound or leaf.upper < max_bound):
        i = length - 2
        while i >= 0 and _tighten(tree, tree.nodes[path[i]], context):
            i -= 1


@jit
def _tighten(tree, node, context):
    """Tightens the bounds of an open node by those of its children; returns whether it did."""
    lower, upper = -context.max_bound, -context.max_bound
    for i in range(node.first_edge, node.first_edge + node.num_edges):
        if tree.edges[i].child == UNVISITED:
            upper = context.max_bound
        else:
            child = tree.nodes[tree.edges[i].child]
            lower, upper = max(lower, -child.upper), max(upper, -child.lower)
    lower, upper = max(lower, node.lower), min(upper, node.upper)
    if lower == node.lower and upper == node.upper:
        return False
    _set_bounds(node, lower, upper)
    return True


@jit
def clip(value, lower, upper, context):
    """Returns a value moved between those of two bounds."""
    return min(max(value, value_of(lower, context)), value_of(upper, context))


@jit
def value_of(bound, context):
    """Returns the value of a bound: the result, with its share of the final score."""
    share = context.score_share
    return (1 - share) * _sign(bound) + share * bound / context.board.num_squares


@jit
def expand_root(tree, context):
    """Makes all children of an open root, and tightens its bounds by theirs."""
    root = tree.nodes[0]
    for i in range(root.first_edge, root.first_edge + root.num_edges):
        edge = tree.edges[i]
        if edge.child == UNVISITED:
            edge.child = _add_node(tree, root, edge.action, context)
    if root.num_edges:
        _tighten(tree, root, context)
