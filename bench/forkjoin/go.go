// Goroutines, waited for together. forkjoin.hpp says what is measured.
package main

import (
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"

	bench "comity.bench/support/golang"
)

var bodies atomic.Int64
var counting bool

func body(yields bool, others *sync.WaitGroup) {
	if counting {
		bodies.Add(1)
	}
	if yields {
		runtime.Gosched()
	}
	others.Done()
}

func round(yields []bool) {
	var others sync.WaitGroup
	others.Add(len(yields))
	for _, one := range yields {
		go body(one, &others)
	}
	others.Wait()
}

type point struct{ n, d int }

func allPoints() []point {
	points := []point{{256, 10}, {256, 50}}
	for _, d := range []int{0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100} {
		points = append(points, point{4096, d})
	}
	for n := 1; n <= 65536; n *= 4 {
		if n != 4096 {
			points = append(points, point{n, 0}, point{n, 100})
		}
	}
	return points
}

func chooseYielding(one point) []bool {
	yields := make([]bool, one.n)
	for i := 0; i < (one.n*one.d+50)/100; i++ {
		yields[i] = true
	}
	rand.New(rand.NewSource(20190901)).Shuffle(one.n, func(i, j int) { yields[i], yields[j] = yields[j], yields[i] })
	return yields
}

func main() {
	options := bench.ReadArguments()
	only := point{options.Whole("n", 0, 0, 1<<20), options.Whole("d", 0, 0, 100)}
	reverse := options.Whole("reverse", 0, 0, 1)
	seconds := options.Number("point-ms", 6, 0, 60000) / 1e3
	regions := options.Whole("regions", 0, 0, 1000000000)
	options.Finish()
	bench.Demand(reverse == 0, "goroutines are not joined one by one")
	bench.SetWorkers(1)
	points := allPoints()
	if only.n > 0 {
		points = []point{only}
	}
	if regions > 0 {
		yields := chooseYielding(points[0])
		for done := 0; done < regions; done += len(yields) {
			round(yields)
		}
		return
	}
	rate := bench.CyclesPerNanosecond()
	result := bench.NewRecord("forkjoin")
	for _, one := range points {
		yields := chooseYielding(one)
		bodies.Store(0)
		counting = true
		round(yields)
		counting = false
		bench.Demand(bodies.Load() == int64(one.n), "not every goroutine ran exactly once")
		nanoseconds := bench.NanosecondsOf(func() { round(yields) }, seconds)
		result.Number(fmt.Sprintf("n%d-d%d-forward", one.n, one.d), rate*nanoseconds/float64(one.n))
	}
	result.Print()
}
