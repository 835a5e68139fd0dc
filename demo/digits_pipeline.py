#!/usr/bin/env python3
"""Finds groups of alike handwritten digits, and the directions that tell them apart.

Adaptive dimension reduction (Ding and Li, ICML 2007) on the 1797 scanned digits that ship with scikit-learn. After a PCA that
whitens the images it alternates two steps: assign every image to its nearest landmark in a plane of a
few dimensions (scikit-learn's nearest neighbours: OpenMP, the libgomp inside its wheel), and turn the plane to where
the landmarks spread most (matrix products and an eigen-decomposition: numpy's own OpenBLAS). The two libraries, each with
a thread pool of its own, take turns several times a millisecond.

Prints `TIME seconds` for the timed section and `RESULT name value` for each number that must not depend on how many
threads did the work.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.neighbors import KNeighborsClassifier

DIMENSIONS = 20
LANDMARKS = 200
RIDGE = 1e-6  # pixels that are blank in every image have no variance to divide by


def whiten(images):
    """The images in the coordinates of their principal components, each with variance one."""
    pca = PCA(svd_solver="covariance_eigh").fit(images)
    return pca.transform(images) / np.sqrt(pca.explained_variance_ + RIDGE)


def landmarks_of(data, nearest):
    """The mean of the images at each landmark, and how many there are; an empty landmark stays at the origin."""
    member = np.zeros((len(data), LANDMARKS))
    member[np.arange(len(data)), nearest] = 1.0
    count = member.sum(axis=0)
    return member.T @ data / np.maximum(count, 1.0)[:, None], count


def spread(landmarks, count):
    """The directions in which the landmarks differ most: leading eigenvectors of the scatter between them."""
    scatter = landmarks.T @ (landmarks * count[:, None])
    return np.linalg.eigh(scatter)[1][:, -DIMENSIONS:]


def adapt(data, rounds, random):
    """Alternates both steps; returns where each image went, the plane, and the sum of the distances in the last round."""
    landmarks = data[random.permutation(len(data))[:LANDMARKS]]
    plane = np.eye(data.shape[1])[:, :DIMENSIONS]
    for _ in range(rounds):
        nearest, distance = pairwise_distances_argmin_min(data @ plane, landmarks @ plane)
        landmarks, count = landmarks_of(data, nearest)
        plane = spread(landmarks, count)
    return nearest, plane, distance.sum()


def purity(nearest, labels):
    """The share of images whose label is the commonest one at their landmark."""
    table = np.zeros((LANDMARKS, 10))
    np.add.at(table, (nearest, labels), 1)
    return table.max(axis=1).sum() / len(labels)


def run(images, labels, restarts, rounds, size):
    """Mean purity, mean accuracy of a nearest-neighbour classifier in the planes found, and a checksum of distances."""
    random = np.random.default_rng(0)
    found, accuracy, total = [], [], 0.0
    for _ in range(restarts):
        chosen = random.permutation(len(images))[:size]
        data = whiten(images[chosen])
        nearest, plane, distance = adapt(data, rounds, random)
        flat, half = data @ plane, size // 2
        classifier = KNeighborsClassifier(algorithm="brute").fit(flat[:half], labels[chosen[:half]])
        accuracy.append(classifier.score(flat[half:], labels[chosen[half:]]))
        found.append(purity(nearest, labels[chosen]))
        total += distance
    return np.mean(found), np.mean(accuracy), total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--restarts", type=int, default=8, help="random subsets to group (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=30, help="alternations per subset (default: %(default)s)")
    parser.add_argument("--size", type=int, default=1024, help="images in a subset (default: %(default)s)")
    options = parser.parse_args()
    images, labels = load_digits(return_X_y=True)
    run(images, labels, 1, 2, options.size)  # the first calls load libraries and start pools

    started = time.perf_counter()
    grouped, accuracy, distance = run(images, labels, options.restarts, options.rounds, options.size)
    print(f"TIME {time.perf_counter() - started:.6f}", flush=True)
    print(f"RESULT purity {grouped:.12g}")
    print(f"RESULT accuracy {accuracy:.12g}")
    print(f"RESULT distance {distance:.12g}")


if __name__ == "__main__":
    main()
