// Goroutines: a barrier of a mutex and a condition, as Go has none of its own. barrier.hpp says what is measured.
package main

import (
	"sync"
	"time"

	bench "comity.bench/support/golang"
)

type barrier struct {
	lock           sync.Mutex
	open           *sync.Cond
	count, arrived int
	episode        int
}

func newBarrier(count int) *barrier {
	made := &barrier{count: count}
	made.open = sync.NewCond(&made.lock)
	return made
}

func (b *barrier) wait() {
	b.lock.Lock()
	episode := b.episode
	b.arrived++
	if b.arrived == b.count {
		b.arrived = 0
		b.episode++
		b.open.Broadcast()
	}
	for b.episode == episode {
		b.open.Wait()
	}
	b.lock.Unlock()
}

func main() {
	options := bench.ReadArguments()
	threads := options.Whole("threads", 2, 1, 100000)
	workers := options.Whole("workers", 2, 1, 1024)
	episodes := options.Whole("episodes", 1000, 1, 1000000000)
	budget := options.Number("budget-s", 0.5, 0, 600)
	options.Finish()
	bench.SetWorkers(workers)
	meeting := newBarrier(threads)
	round := func() float64 {
		var others sync.WaitGroup
		others.Add(threads)
		begin := time.Now()
		for i := 0; i < threads; i++ {
			go func() {
				for j := 0; j < episodes; j++ {
					meeting.wait()
				}
				others.Done()
			}()
		}
		others.Wait()
		return float64(time.Since(begin).Nanoseconds()) / float64(episodes)
	}
	result := bench.NewRecord("barrier")
	result.Number("threads", float64(threads))
	result.Number("workers", float64(workers))
	bench.Sample(result, "ns", budget, round)
	bench.Demand(meeting.episode%episodes == 0, "an episode was lost")
	result.Print()
}
