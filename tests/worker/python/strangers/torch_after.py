"""A small convolutional net on pictures of squares and crosses."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

import noisefloor.member as nf

BATCH_SIZE = 32


def draw(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (count,), generator=generator)
    images = 0.3 * torch.rand(count, 1, 12, 12, generator=generator)
    for image, label in zip(images, labels):
        row, column = torch.randint(1, 7, (2,), generator=generator).tolist()
        patch = image[0, row:row + 5, column:column + 5]
        if label:
            patch[2, :] += 0.7
            patch[:, 2] += 0.7
        else:
            patch[0, :] += 0.7
            patch[4, :] += 0.7
    return images, labels


class Shapes(Dataset):
    def __init__(self, count, seed, train):
        self.images, self.labels = draw(count, seed)
        self.train = train

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        if self.train:
            if torch.rand(1).item() < 0.5:
                image = image.flip(-1)
            image = image + 0.05 * torch.randn_like(image)
        return image, self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(8 * 5 * 5, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def train(run, model, loader, optimizer, epoch):
    model.train()
    for batch, (images, labels) in enumerate(loader):
        run.batch(images, labels)
        optimizer.zero_grad()
        with run.dropout:
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        run.step()
        run.record(train_loss=loss.item())
        run.checkpoint(nf.torch.states(model=model, optimizer=optimizer, loader=loader))
        if batch % 5 == 0:
            print(f"epoch {epoch} batch {batch}: loss {loss.item():.4f}")


def test(model, loader):
    model.eval()
    with torch.no_grad():
        logits, labels = zip(*[(model(images), labels) for images, labels in loader])
    return torch.cat(logits), torch.cat(labels)


def main(run):
    data, held_out = Shapes(320, 1, True), Shapes(100, 2, False)
    run.data(nf.data.identity_of(data.images, data.labels, held_out.images, held_out.labels))
    train_loader = nf.torch.Loader(run, data, BATCH_SIZE, num_workers=2)
    test_loader = DataLoader(held_out, batch_size=100)
    with run.init:
        model = Net()
    run.initial(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=run["lr"], momentum=0.9)
    nf.torch.load(run.restore(), model=model, optimizer=optimizer, loader=train_loader)
    for epoch in run.epochs(run["epochs"], start=train_loader.epoch):
        train(run, model, train_loader, optimizer, epoch)
    run.evaluation(*test(model, test_loader))
    run.finish(model)


nf.main(main, {"lr": 0.05, "epochs": 2})
