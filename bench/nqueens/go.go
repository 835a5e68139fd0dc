// Goroutines: each safe square but the last is one. nqueens.hpp says what is counted.
package main

import (
	"sync"

	bench "comity.bench/support/golang"
)

type board struct{ columns, left, right uint32 }

func (b board) with(square uint32) board {
	return board{b.columns | square, (b.left | square) << 1, (b.right | square) >> 1}
}

func count(rows board, all uint32) int {
	free := all &^ (rows.columns | rows.left | rows.right)
	if free == 0 {
		if rows.columns == all {
			return 1
		}
		return 0
	}
	var results [16]int
	var others sync.WaitGroup
	used := 0
	for ; free != 0; free &= free - 1 {
		next, place := rows.with(free&-free), used
		used++
		if free&(free-1) == 0 {
			results[place] = count(next, all)
			break
		}
		others.Add(1)
		go func() {
			results[place] = count(next, all)
			others.Done()
		}()
	}
	others.Wait()
	found := 0
	for _, one := range results[:used] {
		found += one
	}
	return found
}

var solutions = []int{1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512}

func main() {
	options := bench.ReadArguments()
	n := options.Whole("n", 13, 1, 16)
	size := func(small bool) int {
		if small && n > 3 {
			return n - 3
		}
		return n
	}
	result := 0
	bench.TreeMain(options, bench.Problem{
		Name:  "nqueens",
		Solve: func(small bool) { result = count(board{}, 1<<size(small)-1) },
		Check: func(small bool) { bench.Demand(result == solutions[size(small)], "wrong number of solutions") },
	})
}
