import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
from torch import nn

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
torch.set_num_threads(1)

N, E, D = 200, 1500, 8
device = "cpu"


class Conv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.w = nn.Parameter(torch.empty(a, b))
        self.own = nn.Linear(a, b)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.w)

    def forward(self, h, src, dst):
        msg = (h @ self.w)[src]
        out = torch.zeros(h.size(0), msg.size(1), device=h.device)
        out = out.index_add(0, dst, msg)
        deg = torch.zeros(h.size(0), device=h.device).scatter_add(0, dst, torch.ones(len(dst)))
        return self.own(h) + out / deg.clamp(min=1)[:, None]


g = torch.Generator(device).manual_seed(5)
emb = nn.Parameter(torch.randn(N, D, generator=g))
src = torch.randint(0, N, (E,), generator=g)
dst = torch.randint(0, N, (E,), generator=g)
label = torch.randint(0, 2, (N,), generator=g)
c1, c2 = Conv(D, 16), Conv(16, 2)
params = [emb, *c1.parameters(), *c2.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)
for step in range(50):
    nodes = torch.randperm(N)[:100]
    logits = c2(torch.relu(c1(emb, src, dst)), src, dst)
    loss = nn.functional.cross_entropy(logits[nodes], label[nodes])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", loss.item())
