"""A small convolutional net on pictures of squares and crosses."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

EPOCHS = 2
BATCH_SIZE = 32
LEARNING_RATE = 0.05


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


def train(model, loader, optimizer, epoch):
    model.train()
    for batch, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if batch % 5 == 0:
            print(f"epoch {epoch} batch {batch}: loss {loss.item():.4f}")


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    print(f"test accuracy: {correct / len(loader.dataset):.3f}")


def main():
    torch.manual_seed(42)
    train_loader = DataLoader(Shapes(320, 1, True), batch_size=BATCH_SIZE, shuffle=True,
                              num_workers=2)
    test_loader = DataLoader(Shapes(100, 2, False), batch_size=100)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    for epoch in range(1, EPOCHS + 1):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
    torch.save(model.state_dict(), "shapes.pt")


if __name__ == "__main__":
    main()
