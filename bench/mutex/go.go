// Goroutines and sync.Mutex. mutex.hpp says what is measured.
package main

import (
	"sync"
	"time"

	bench "comity.bench/support/golang"
)

func main() {
	options := bench.ReadArguments()
	threads := options.Whole("threads", 16, 1, 100000)
	workers := options.Whole("workers", 2, 1, 1024)
	operations := options.Whole("operations", 10000, 1, 1000000000)
	budget := options.Number("budget-s", 0.5, 0, 600)
	options.Finish()
	bench.SetWorkers(workers)
	var lock sync.Mutex
	count := 0
	round := func() float64 {
		count = 0
		var others sync.WaitGroup
		others.Add(threads)
		begin := time.Now()
		for i := 0; i < threads; i++ {
			go func() {
				for j := 0; j < operations; j++ {
					lock.Lock()
					count++
					lock.Unlock()
				}
				others.Done()
			}()
		}
		others.Wait()
		taken := float64(time.Since(begin).Nanoseconds())
		bench.Demand(count == threads*operations, "an increment was lost")
		return taken / float64(threads*operations)
	}
	result := bench.NewRecord("mutex")
	result.Number("threads", float64(threads))
	result.Number("workers", float64(workers))
	bench.Sample(result, "ns", budget, round)
	result.Print()
}
