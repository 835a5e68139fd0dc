"""PyTorch (OpenMP, MKL) trains a small network, TT threads, on images that W (2) DataLoader processes make with numpy's OpenBLAS."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from timing import finish, number, start


class Images(Dataset):
    def __len__(self):
        return 2048

    def __getitem__(self, place):
        random = np.random.default_rng(place)
        image = random.standard_normal((3, 24, 24), dtype=np.float32)
        left, singular, right = np.linalg.svd(image[0])
        image[0] = left @ np.diag(singular) @ right
        return torch.from_numpy(image), place % 10


def main():
    threads = number("TT")
    if threads is not None:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.Flatten(),
                            nn.Linear(32 * 10 * 10, 10))
    optimizer = torch.optim.SGD(network.parameters(), 0.01)
    total = 0.0
    start()
    for _ in range(2):
        for images, labels in DataLoader(Images(), 64, num_workers=number("W", 2)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
    finish(loss=total)


if __name__ == "__main__":
    main()
