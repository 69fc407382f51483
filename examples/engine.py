"""The engine of azo in a program: plays, analyses a game, solves an ending."""

import azo

engine = azo.load_engine("zero-fast", num_simulations=800)
engine.play("f5")
report = engine.think()
print(f"after f5: {azo.action_text(report.action, 8)}, expected result {report.value:+.2f}")
engine.play(report.action)
print(engine)

analysis = azo.analyse_game("f5d6c3d3c4f4f6f3e6e7d7g6d8c5c6c7c8b7b5b4", engine)
for position in analysis.losses[:3]:
    played, best = (azo.action_text(move, 8) for move in (position.played, position.best))
    print(f"ply {position.number}: {played} loses {position.loss_discs:.0f} discs, best was {best}")

ending = "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X-------- X"  # FFO 40
solution = azo.solve_position(ending)
print(f"black scores {solution.score:+d} by {azo.action_text(solution.best_move, 8)}")
