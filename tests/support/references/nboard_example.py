"""The game of the example session in the description of NBoard's protocol, in GGF."""

START = "8 ---------------------------O*------*O--------------------------- *"
PUBLISHED = (
    "(;GM[Othello]PC[NBoard]DT[2014-02-21 20:52:27 GMT]PB[./mEdax]PW[chris]RE[?]TI[15:00]TY[8]"
    f"BO[{START}]B[F5]W[F6]B[D3]W[C5]B[E6]W[F7]B[E7]W[F4];)"
)
