"""Who gets the next place for a search: addresses take turns, and the queue is bounded."""

import asyncio
import concurrent.futures
import functools

import pytest
from starlette.exceptions import HTTPException

from azo.play.web import sessions


def in_thread(test):
    """Runs a coroutine function; a browser of other tests has a running loop in this thread."""

    @functools.wraps(test)
    def run(**fixtures):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pool.submit(asyncio.run, asyncio.wait_for(test(**fixtures), 10)).result()

    return run


@pytest.fixture
def queue():
    """A queue of two places."""
    return _Queue()


class _Queue:
    """Places, and the order in which searches get them."""

    def __init__(self):
        self.places = sessions.Places(2)
        self.must_end = self.places.must_end
        self.order, self.refused = [], []

    async def arrive(self, *names):
        """Lets searches arrive, named by their address and a number: "a1"."""
        arrived = [(name, sessions.PageSearch(name[0])) for name in names]
        self.tasks = [asyncio.ensure_future(self._take(*each)) for each in arrived]
        await asyncio.sleep(0)  # they begin to wait
        await asyncio.sleep(0)  # one may be refused for them
        return [place for _, place in arrived]

    async def _take(self, name, place):
        try:
            await self.places.take(place)
            self.order.append(name)
        except HTTPException as error:
            self.refused.append((name, error.status_code))


@in_thread
async def test_addresses_get_places_in_turn(queue):
    first = await queue.arrive("a1", "b1")
    later = ["a2", "a3", "a4", "b2", "b3", "c1", "c2"]
    places_of = dict(zip(["a1", "b1", *later], first + await queue.arrive(*later), strict=True))
    for number in range(7):
        queue.places.release(places_of[queue.order[number]])
        await asyncio.sleep(0)
    assert queue.order == ["a1", "b1", "a2", "b2", "c1", "a3", "b3", "c2", "a4"]


@in_thread
async def test_an_address_with_both_places_gives_one_up_at_once(queue):
    first, second = await queue.arrive("a1", "a2")
    await queue.arrive("b1")
    assert (queue.must_end(first), queue.must_end(second)) == (True, False)


@in_thread
async def test_a_search_ends_after_its_turn_if_another_one_waits(queue, monkeypatch):
    monkeypatch.setattr(sessions, "TURN_SECONDS", 0.05)

    first, second = await queue.arrive("a1", "b1")
    await asyncio.sleep(0.1)
    assert not queue.must_end(first)
    (third,) = await queue.arrive("a2")
    assert (queue.must_end(first), queue.must_end(second)) == (True, False)
    queue.places.release(first)
    await queue.arrive("b2", "a3")
    assert (queue.must_end(second), queue.must_end(third)) == (True, False)
    queue.places.release(second)
    assert not queue.must_end(third)
    await asyncio.sleep(0.1)
    assert queue.must_end(third)


@in_thread
async def test_a_full_queue_loses_a_search_of_the_address_with_the_most(queue):
    numbers = range(sessions.MAX_WAITING + 3)
    await queue.arrive(*(f"a{number}" for number in numbers))
    assert queue.refused == [(f"a{numbers[-1]}", 503)]
    await queue.arrive("b1")
    assert queue.refused[1:] == [(f"a{numbers[-2]}", 503)]


@pytest.mark.parametrize("is_cancelled", [False, True])
@in_thread
async def test_a_search_that_leaves_the_queue_gets_no_place(queue, is_cancelled):
    first, _ = await queue.arrive("a1", "b1")
    (third,) = await queue.arrive("c1")
    if is_cancelled:  # as at the end of the server
        queue.tasks[0].cancel()
        await asyncio.sleep(0)
        queue.places.release(third)
    else:
        queue.places.withdraw(third)
    await queue.arrive("d1")
    queue.places.release(first)
    await asyncio.sleep(0)
    assert queue.order == ["a1", "b1", "d1"]
    assert queue.refused == [("c1", 409)] * (not is_cancelled)


@in_thread
async def test_searches_that_wait_at_the_end_of_the_server_end_at_once(queue):
    first, second, third = [*await queue.arrive("a1", "b1"), *await queue.arrive("c1")]
    queue.places.stop_all()
    assert queue.must_end(first)
    assert queue.must_end(second)
    queue.places.release(first)
    await asyncio.sleep(0)
    assert queue.order == ["a1", "b1", "c1"]
    assert queue.must_end(third)
