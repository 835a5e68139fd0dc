// Goroutines that all wait for one channel to be closed. parked.hpp says what is measured.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	bench "comity.bench/support/golang"
)

func resident() float64 {
	var all, pages int
	file, err := os.Open("/proc/self/statm")
	bench.Demand(err == nil, "/proc/self/statm cannot be read")
	defer file.Close()
	_, err = fmt.Fscan(file, &all, &pages)
	bench.Demand(err == nil, "/proc/self/statm cannot be read")
	return float64(pages * os.Getpagesize())
}

func main() {
	options := bench.ReadArguments()
	threads := options.Whole("threads", 100000, 1, 10000000)
	workers := options.Whole("workers", 1, 1, 1024)
	options.Finish()
	bench.SetWorkers(workers)
	var arrived, left atomic.Int64
	var others sync.WaitGroup
	open := make(chan struct{})
	before, begin := resident(), time.Now()
	others.Add(threads)
	for i := 0; i < threads; i++ {
		go func() {
			arrived.Add(1)
			<-open
			left.Add(1)
			others.Done()
		}()
	}
	created := resident()
	for arrived.Load() < int64(threads) {
		runtime.Gosched()
	}
	full, parked := resident(), time.Now()
	close(open)
	others.Wait()
	bench.Demand(left.Load() == int64(threads), "not every goroutine went on")
	result := bench.NewRecord("parked")
	result.Number("threads", float64(threads))
	result.Number("workers", float64(workers))
	result.Number("seconds_to_park", parked.Sub(begin).Seconds())
	result.Number("seconds_to_leave", time.Since(parked).Seconds())
	result.Number("bytes_created", (created-before)/float64(threads))
	result.Number("bytes", (full-before)/float64(threads))
	result.Print()
}
