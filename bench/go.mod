module comity.bench

go 1.19
