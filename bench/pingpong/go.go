// Goroutines: unbuffered channels. pingpong.hpp says what is measured.
package main

import (
	"time"

	bench "comity.bench/support/golang"
)

func main() {
	options := bench.ReadArguments()
	workers := options.Whole("workers", 2, 1, 1024)
	turns := options.Whole("turns", 2000, 1, 1000000000)
	budget := options.Number("budget-s", 0.4, 0, 600)
	options.Finish()
	bench.SetWorkers(workers)
	round := func() float64 {
		ping, pong := make(chan int), make(chan int)
		begin := time.Now()
		go func() {
			for turn := range ping {
				pong <- turn + 1
			}
			close(pong)
		}()
		turn := 0
		for i := 0; i < turns; i++ {
			ping <- turn + 1
			turn = <-pong
		}
		taken := float64(time.Since(begin).Nanoseconds())
		close(ping)
		bench.Demand(turn == 2*turns, "a turn was lost")
		return taken / float64(2*turns)
	}
	result := bench.NewRecord("pingpong")
	result.Word("kind", "channel")
	result.Number("workers", float64(workers))
	bench.Sample(result, "ns", budget, round)
	result.Print()
}
