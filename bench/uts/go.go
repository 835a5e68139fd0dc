// Goroutines: each child but the last is one. uts.hpp says what the tree is. SHA-1 is Go's own, which uses what the
// processor has for it.
package main

import (
	"crypto/sha1"
	"encoding/binary"
	"math"
	"sync"

	bench "comity.bench/support/golang"
)

type node struct {
	state [sha1.Size]byte
	depth int
}

func hash(words []byte, last uint32) [sha1.Size]byte {
	var message [24]byte
	length := copy(message[:], words)
	binary.BigEndian.PutUint32(message[length:], last)
	return sha1.Sum(message[:length+4])
}

func (n *node) child(number int) node { return node{hash(n.state[:], uint32(number)), n.depth + 1} }

func (n *node) countChildren(deepest int) int {
	if n.depth >= deepest {
		return 0
	}
	uniform := float64(binary.BigEndian.Uint32(n.state[16:])&0x7fffffff) / 2147483648.0
	count := int(math.Floor(math.Log(1-uniform) / scale))
	if count > 100 {
		return 100
	}
	return count
}

var scale = math.Log(1 - 1.0/5)

func walk(n node, deepest int) int {
	count := n.countChildren(deepest)
	if count == 0 {
		return 1
	}
	sizes := make([]int, count)
	var others sync.WaitGroup
	others.Add(count - 1)
	for i := 0; i+1 < count; i++ {
		child, place := n.child(i), &sizes[i]
		go func() {
			*place = walk(child, deepest)
			others.Done()
		}()
	}
	sizes[count-1] = walk(n.child(count-1), deepest)
	others.Wait()
	size := 1
	for _, one := range sizes {
		size += one
	}
	return size
}

var treeSizes = []int{1, 6, 65, 254, 944, 3987, 16000, 63914, 257042, 1031269, 4130071}

func main() {
	options := bench.ReadArguments()
	depth := options.Whole("depth", 10, 1, 10)
	size := func(small bool) int {
		if small && depth > 4 {
			return depth - 4
		}
		return depth
	}
	root := node{state: hash(make([]byte, 16), 19)}
	result := 0
	bench.TreeMain(options, bench.Problem{
		Name:  "uts",
		Solve: func(small bool) { result = walk(root, size(small)) },
		Check: func(small bool) { bench.Demand(result == treeSizes[size(small)], "wrong number of nodes") },
	})
}
