"""PCA, k-means and nearest neighbours one after the other: scikit-learn's libgomp in turns with the OpenBLAS of numpy and scipy."""
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from timing import finish, start

TRAINING = 25000


def main():
    data, labels = make_blobs(40000, 100, centers=25, cluster_std=9.0, random_state=0)
    start()
    plane = PCA(20, random_state=0).fit_transform(data)
    clusters = KMeans(25, n_init=4, random_state=0).fit(plane)
    classifier = KNeighborsClassifier(10, algorithm="brute").fit(plane[:TRAINING], labels[:TRAINING])
    accuracy = classifier.score(plane[TRAINING:], labels[TRAINING:])
    finish(plane=abs(plane).sum(), inertia=clusters.inertia_, accuracy=accuracy)


if __name__ == "__main__":
    main()
