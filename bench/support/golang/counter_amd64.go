package golang

import "time"

func counter() uint64

// counterRate compares the counter with the clock for a moment.
func counterRate() float64 {
	begin, first := time.Now(), counter()
	time.Sleep(20 * time.Millisecond)
	last, taken := counter(), time.Since(begin)
	return float64(last-first) / float64(taken.Nanoseconds())
}
