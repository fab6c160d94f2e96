import math
import random

random.seed("experiment-7")
sampler = random.Random(99)


class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.grad = value, parents, 0.0

    def __add__(self, other):
        return Node(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Node(self.value * other.value, ((self, other.value), (other, self.value)))

    def tanh(self):
        t = math.tanh(self.value)
        return Node(t, ((self, 1 - t * t),))

    def backward(self):
        order, visited = [], set()

        def visit(n):
            if id(n) in visited:
                return
            visited.add(id(n))
            for p, _ in n.parents:
                visit(p)
            order.append(n)

        visit(self)
        self.grad = 1.0
        for n in reversed(order):
            for p, d in n.parents:
                p.grad += d * n.grad


cells = set()
while len(cells) < 30:
    cells.add((random.randint(-5, 5), random.randint(-5, 5)))
points = [(a / 5, b / 5, math.tanh(a * b / 10)) for a, b in cells]

hidden = 6
params = [Node(random.gauss(0, 0.7)) for _ in range(4 * hidden)]
for epoch in range(40):
    total = 0.0
    for a, b, target in sampler.sample(points, 20):
        xa, xb, out = Node(a), Node(b), Node(0.0)
        for h in range(hidden):
            w = params[4 * h : 4 * h + 4]
            out = out + w[3] * (w[0] * xa + w[1] * xb + w[2]).tanh()
        err = out + Node(-target)
        loss = err * err
        loss.backward()
        total += loss.value
        for p in params:
            p.value -= 0.05 * p.grad
            p.grad = 0.0
print("final loss", total / 20)
