// Package golang is what the programs of Go's goroutines share: options, sampling and the one line of JSON, as ../*.hpp have
// them for C++.
package golang

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Arguments are options of the form --name number; an unknown name or a bad value ends the program with status 2.
type Arguments struct{ given map[string]string }

func fail(what, why string) {
	fmt.Fprintf(os.Stderr, "%s: %s: %s\n", os.Args[0], what, why)
	os.Exit(2)
}

func ReadArguments() *Arguments {
	words, given := os.Args[1:], map[string]string{}
	for i := 0; i < len(words); i += 2 {
		if !strings.HasPrefix(words[i], "--") || i+1 >= len(words) {
			fail(words[i], "expected --name value")
		}
		given[words[i][2:]] = words[i+1]
	}
	return &Arguments{given}
}

func (a *Arguments) Number(name string, otherwise, lowest, highest float64) float64 {
	text, found := a.given[name]
	if !found {
		return otherwise
	}
	delete(a.given, name)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < lowest || value > highest {
		fail(name, "value out of range or not a number")
	}
	return value
}

func (a *Arguments) Whole(name string, otherwise, lowest, highest int) int {
	return int(a.Number(name, float64(otherwise), float64(lowest), float64(highest)))
}

// Finish is to be called when every option has been asked for.
func (a *Arguments) Finish() {
	for name := range a.given {
		fail(name, "unknown option")
	}
}

func Demand(holds bool, what string) {
	if !holds {
		fmt.Fprintf(os.Stderr, "benchmark refused: %s\n", what)
		os.Exit(1)
	}
}

// Record is the one line of JSON.
type Record struct{ line strings.Builder }

func NewRecord(workload string) *Record {
	r := &Record{}
	fmt.Fprintf(&r.line, `{"workload":%q,"library":"go"`, workload)
	return r
}

func (r *Record) Number(key string, value float64) {
	fmt.Fprintf(&r.line, `,%q:%s`, key, strconv.FormatFloat(value, 'g', 9, 64))
}

func (r *Record) Word(key, value string) { fmt.Fprintf(&r.line, `,%q:%q`, key, value) }

func (r *Record) Print() { fmt.Println(r.line.String() + `,"verified":true}`) }

func Median(values []float64) float64 {
	sort.Float64s(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// SetWorkers sets how many goroutines run at a time.
func SetWorkers(workers int) { runtime.GOMAXPROCS(workers) }

// CyclesPerNanosecond is the rate of the time stamp counter.
func CyclesPerNanosecond() float64 { return counterRate() }

// NanosecondsOf is the median time of a call of round, of samples of 20 microseconds taken for so many seconds.
func NanosecondsOf(round func(), seconds float64) float64 {
	timed := func(calls int) float64 {
		begin := time.Now()
		for i := 0; i < calls; i++ {
			round()
		}
		return float64(time.Since(begin).Nanoseconds())
	}
	calls := 1
	for timed(calls) < 20000 && calls < 1<<24 {
		calls *= 2
	}
	var samples []float64
	for begin := time.Now(); len(samples) < 3 || time.Since(begin).Seconds() < seconds; {
		samples = append(samples, timed(calls)/float64(calls))
	}
	return Median(samples)
}

// Sample calls round, which returns what it measured, for so many seconds, three times at least, and puts the median under key.
func Sample(result *Record, key string, budget float64, round func() float64) {
	round()
	var samples []float64
	for begin := time.Now(); len(samples) < 3 || time.Since(begin).Seconds() < budget; {
		samples = append(samples, round())
	}
	result.Number("samples", float64(len(samples)))
	result.Number(key, Median(samples))
}

// Problem is solved by recursion; see ../tree.hpp.
type Problem struct {
	Name    string
	Solve   func(small bool)
	Prepare func(small bool)
	Check   func(small bool)
}

func (p *Problem) solveOnce(small bool) float64 {
	if p.Prepare != nil {
		p.Prepare(small)
	}
	begin := time.Now()
	p.Solve(small)
	taken := time.Since(begin).Seconds()
	p.Check(small)
	return taken
}

// TreeMain is the rest of a program that has read its own options.
func TreeMain(options *Arguments, problem Problem) {
	workers := options.Whole("workers", 1, 1, 1024)
	count := options.Whole("samples", 5, 1, 1000)
	regions := options.Whole("regions", 0, 0, 1000)
	budget := options.Number("budget-s", 0.6, 0, 600)
	options.Finish()
	SetWorkers(workers)
	for i := 0; i < regions; i++ {
		problem.solveOnce(false)
	}
	if regions > 0 {
		return
	}
	problem.solveOnce(true)
	begin := time.Now()
	taken, lowest := []float64{}, math.MaxFloat64
	for len(taken) == 0 || len(taken) < count && time.Since(begin).Seconds() < budget {
		one := problem.solveOnce(false)
		taken, lowest = append(taken, one), math.Min(lowest, one)
	}
	result := NewRecord(problem.Name)
	result.Number("workers", float64(workers))
	result.Number("samples", float64(len(taken)))
	result.Number("seconds_low", lowest)
	result.Number("seconds", Median(taken))
	result.Print()
}
