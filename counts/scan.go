package counts

// scanRecord reads the usual record line: the seven known fields, plain names,
// plain integers, any white space. It returns false for everything else,
// also for what is wrong, and decodeRecord then has the word. It is there
// because encoding/json needs over twenty times as long (BenchmarkRead*).
func scanRecord(line []byte, h *Header, rec *Record) bool {
	rec.reset(h)
	s := scanner{b: line}
	const (
		index = 1 << iota
		label
		sel
		count
		n
		invalidSelect
		invalid
	)
	seen := 0
	s.expect('{')
	for first := true; !s.bad; first = false {
		s.space()
		if !first {
			if s.peek() == '}' {
				break
			}
			s.expect(',')
		}
		field := 0
		name := s.name()
		s.expect(':')
		switch string(name) {
		case "index":
			field, rec.Index = index, s.int()
		case "label":
			field, rec.Label = label, s.int()
		case "select":
			field = sel
			s.counts(rec.Select)
		case "count":
			field = count
			s.counts(rec.Count)
		case "n":
			field, rec.N = n, s.number()
		case "invalid_select":
			field, rec.InvalidSelect = invalidSelect, s.number()
		case "invalid":
			field, rec.Invalid = invalid, s.number()
		default:
			return false
		}
		if seen&field != 0 {
			return false
		}
		seen |= field
	}
	s.expect('}')
	s.space()
	const all = index | label | sel | count
	return !s.bad && s.i == len(s.b) && seen&all == all && rec.Validate(h) == nil
}

// scanner walks over one line. After a surprise bad is set and nothing moves.
type scanner struct {
	b   []byte
	i   int
	bad bool
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) expect(c byte) {
	s.space()
	if s.bad || s.peek() != c {
		s.bad = true
		return
	}
	s.i++
}

// name reads a quoted name of lower-case letters, digits and underscores.
func (s *scanner) name() []byte {
	s.expect('"')
	start := s.i
	for !s.bad {
		switch c := s.peek(); {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_':
			s.i++
		case c == '"':
			s.i++
			return s.b[start : s.i-1]
		default:
			s.bad = true
		}
	}
	return nil
}

// number reads an integer without sign, leading zero, fraction or exponent.
func (s *scanner) number() int64 {
	s.space()
	start, v := s.i, int64(0)
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		if v > maxDraws { // far below where the next digit could overflow
			s.bad = true
			return 0
		}
		v = v*10 + int64(c-'0')
		s.i++
	}
	if s.i == start || s.b[start] == '0' && s.i > start+1 {
		s.bad = true
	}
	return v
}

// int is number where an int may have 32 bits.
func (s *scanner) int() int {
	v := s.number()
	s.bad = s.bad || int64(int(v)) != v
	return int(v)
}

// counts reads {"class": count} into a slice of zeros.
func (s *scanner) counts(dst []int64) {
	s.expect('{')
	s.space()
	if s.peek() == '}' {
		s.i++
		return
	}
	last := int64(-1) // ascending classes cannot repeat; another order is decodeRecord's
	for !s.bad {
		s.expect('"')
		digit := s.peek()
		class := s.number()
		if s.bad || digit < '0' || digit > '9' || s.peek() != '"' || class <= last || class >= int64(len(dst)) {
			s.bad = true
			return
		}
		s.i++
		s.expect(':')
		dst[class] = s.number()
		last = class
		s.space()
		if s.peek() == '}' {
			s.i++
			return
		}
		s.expect(',')
	}
}
