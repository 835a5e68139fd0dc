"""A PyTorch transformer (OpenMP, MKL), TT threads, under a ThreadPoolExecutor of W (4) threads, then products in `torch.jit.fork`."""
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from timing import finish, number, start


def forked_products(x: torch.Tensor, n: int):
    futures = torch.jit.annotate(list[torch.jit.Future[torch.Tensor]], [])
    for _ in range(n):
        futures.append(torch.jit.fork(torch.mm, x, x.t()))
    total = torch.zeros(1)
    for future in futures:
        total = total + torch.jit.wait(future).sum()
    return total


def main():
    threads = number("TT")
    if threads is not None:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), 2).eval()
    batches = [torch.randn(8, 48, 128) for _ in range(320)]

    def encode(batch):
        with torch.inference_mode():
            return encoder(batch).abs().sum().item()

    encode(batches[0])
    start()
    with ThreadPoolExecutor(number("W", 4)) as pool:
        encoded = list(pool.map(encode, batches))
    compiled = torch.jit.script(forked_products)  # timed, as somebody who waits for the program waits for it, too
    products = 0.0
    for _ in range(6):
        products += compiled(batches[0].reshape(-1, 128), 16).item()
    finish(encoded=sum(encoded), products=products)


if __name__ == "__main__":
    main()
