from azo.cli.train import run_training as run_training
from azo.coach.game_analysis import analyse_game as analyse_game
from azo.engine.engine_factory import load_engine as load_engine
from azo.games.conformance import check_game as check_game
from azo.games.notation import action_text as action_text
from azo.games.othello import Othello as Othello
from azo.games.protocol import Game as Game
from azo.games.tictactoe import TicTacToe as TicTacToe
from azo.networks.base import Network as Network
from azo.networks.base import Prediction as Prediction
from azo.networks.network_files import load_network as load_network
from azo.search.evaluations import Evaluation as Evaluation
from azo.search.improvement import search_moves as search_moves
from azo.search.settings import GumbelConfig as GumbelConfig
from azo.search.settings import PuctConfig as PuctConfig
from azo.search.settings import SearchConfig as SearchConfig
from azo.solver.host.endgame import solve_position as solve_position
from azo.training.network_speed import check_network as check_network

__version__: str
