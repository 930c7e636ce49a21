package counts

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
)

// Indices is a set of example indices: those that a file holds. It costs a bit
// an example where indices are dense. The zero value is the empty set.
type Indices struct {
	words map[int]uint64 // index/64 -> bits
	size  int
}

// Has says whether i is in the set.
func (s *Indices) Has(i int) bool { return i >= 0 && s.words[i>>6]>>(i&63)&1 == 1 }

// Len is the number of indices in the set.
func (s *Indices) Len() int { return s.size }

// All gives the indices in ascending order.
func (s *Indices) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, key := range slices.Sorted(maps.Keys(s.words)) {
			for w := s.words[key]; w != 0; w &= w - 1 {
				if !yield(key<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// add puts i >= 0 into the set and says whether it was new.
func (s *Indices) add(i int) bool {
	if s.words == nil {
		s.words = map[int]uint64{}
	}
	w, bit := s.words[i>>6], uint64(1)<<(i&63)
	if w&bit != 0 {
		return false
	}
	s.words[i>>6] = w | bit
	s.size++
	return true
}

// clone copies the set.
func (s *Indices) clone() *Indices { return &Indices{words: maps.Clone(s.words), size: s.size} }
