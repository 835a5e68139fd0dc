// Goroutines: Gosched.
package main

import (
	"runtime"
	"sync"
	"time"

	bench "comity.bench/support/golang"
)

var turns [2]int
var missed int

func play(number, times int, others *sync.WaitGroup) {
	before := -1
	for i := 0; i < times; i++ {
		turns[number] = i
		if turns[1-number] == before {
			missed++
		}
		before = turns[1-number]
		runtime.Gosched()
	}
	turns[number] = times
	others.Done()
}

func main() {
	options := bench.ReadArguments()
	budget := options.Number("budget-s", 0.2, 0, 600)
	regions := options.Whole("regions", 0, 0, 2000000000)
	options.Finish()
	bench.SetWorkers(1)
	round := func(times int) float64 {
		turns, missed = [2]int{}, 0
		var others sync.WaitGroup
		others.Add(2)
		begin := time.Now()
		go play(0, times, &others)
		go play(1, times, &others)
		others.Wait()
		taken := float64(time.Since(begin).Nanoseconds()) / float64(2*times)
		bench.Demand(float64(missed) < 0.3*float64(2*times), "the two goroutines do not take turns")
		return taken
	}
	if regions > 0 {
		round((regions + 1) / 2)
		return
	}
	rate := bench.CyclesPerNanosecond()
	result := bench.NewRecord("yield")
	bench.Sample(result, "cycles", budget, func() float64 { return rate * round(20000) })
	result.Number("missed", float64(missed)/40000)
	result.Print()
}
