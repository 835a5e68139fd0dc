// Goroutines: one call is a goroutine, which leaves its result in a channel; the other is the caller's.
package main

import bench "comity.bench/support/golang"

func fib(n int) int {
	if n < 2 {
		return n
	}
	one := make(chan int, 1)
	go func() { one <- fib(n - 1) }()
	other := fib(n - 2)
	return <-one + other
}

func main() {
	options := bench.ReadArguments()
	n := options.Whole("n", 35, 0, 80)
	size := func(small bool) int {
		if small && n > 8 {
			return n - 8
		}
		return n
	}
	result := 0
	bench.TreeMain(options, bench.Problem{
		Name:  "fib",
		Solve: func(small bool) { result = fib(size(small)) },
		Check: func(small bool) {
			before, value := 1, 0
			for i := 0; i < size(small); i++ {
				before, value = value, before+value
			}
			bench.Demand(result == value, "wrong Fibonacci number")
		},
	})
}
