//go:build !amd64

package golang

// counterRate: cycles are nanoseconds where the counter is not known.
func counterRate() float64 { return 1 }
