// Goroutines: of four products that may run side by side, three are goroutines. matmul.hpp says what is multiplied.
package main

import (
	"sync"

	bench "comity.bench/support/golang"
)

type square struct {
	at     []float64
	stride int
}

func (s square) quarter(half, row, column int) square {
	return square{s.at[row*half*s.stride+column*half:], s.stride}
}

func multiplyLeaf(a, b, c square, n int) {
	for i := 0; i < n; i++ {
		into := c.at[i*c.stride : i*c.stride+n]
		for k := 0; k < n; k++ {
			factor, row := a.at[i*a.stride+k], b.at[k*b.stride:k*b.stride+n]
			for j := range into {
				into[j] += factor * row[j]
			}
		}
	}
}

func multiply(a, b, c square, n int) {
	if n <= 16 {
		multiplyLeaf(a, b, c, n)
		return
	}
	half := n / 2
	for round := 0; round < 2; round++ {
		part := func(row, column int) {
			multiply(a.quarter(half, row, round), b.quarter(half, round, column), c.quarter(half, row, column), half)
		}
		var others sync.WaitGroup
		others.Add(3)
		for number := 0; number < 3; number++ {
			number := number
			go func() {
				part(number/2, number%2)
				others.Done()
			}()
		}
		part(1, 1)
		others.Wait()
	}
}

type matrices struct {
	n       int
	a, b, c []float64
}

func newMatrices(n int) *matrices {
	m := &matrices{n, make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)}
	for i := range m.a {
		m.a[i], m.b[i] = float64(i%7)-3, float64(i%11)-5
	}
	return m
}

func times(matrix, vector []float64) []float64 {
	n := len(vector)
	into := make([]float64, n)
	for i := range into {
		for j, x := range vector {
			into[i] += matrix[i*n+j] * x
		}
	}
	return into
}

func (m *matrices) check() {
	x := make([]float64, m.n)
	for i := range x {
		x[i] = -1
		if (i*i+3*i)%5 < 2 {
			x[i] = 1
		}
	}
	right := times(m.a, times(m.b, x))
	for i, value := range times(m.c, x) {
		bench.Demand(value == right[i], "wrong product")
	}
}

func main() {
	options := bench.ReadArguments()
	n := 1 << options.Whole("log2-n", 9, 1, 12)
	whole, part := newMatrices(n), newMatrices(n)
	if n > 64 {
		part = newMatrices(n / 4)
	}
	of := func(small bool) *matrices {
		if small {
			return part
		}
		return whole
	}
	bench.TreeMain(options, bench.Problem{
		Name: "matmul",
		Prepare: func(small bool) {
			c := of(small).c
			for i := range c {
				c[i] = 0
			}
		},
		Solve: func(small bool) {
			m := of(small)
			multiply(square{m.a, m.n}, square{m.b, m.n}, square{m.c, m.n}, m.n)
		},
		Check: func(small bool) { of(small).check() },
	})
}
