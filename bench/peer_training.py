# The training step of bench in PyTorch: reads a number of steps a line, runs
# them, answers with seconds by the clock and of processor time.
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(cout)
        self.c2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(cout)
        self.short = nn.Sequential()
        if stride != 1:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
        return F.relu(y + self.short(x))


class ResNet(nn.Module):
    def __init__(self, depth, classes):
        super().__init__()
        layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        channels = 16
        for stage in range(3):
            for i in range((depth - 2) // 6):
                out = 16 << stage
                layers.append(Block(channels, out, 2 if stage and not i else 1))
                channels = out
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


depth, batch, threads = (int(a) for a in sys.argv[1:4])
torch.set_num_threads(threads)
torch.manual_seed(1)
model = ResNet(depth, 10).train()
if len(sys.argv) > 4 and sys.argv[4] == "channels-last":
    model = model.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x, y = torch.rand(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
print("ready", torch.__version__, flush=True)
for line in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(int(line)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)
