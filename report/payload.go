package report

// payload is what the script reads.
type payload struct {
	Eps     []float64 `json:"eps"`
	EpsText []string  `json:"epsText"`
	Start   int       `json:"start"`
	Lead    []string  `json:"lead"`
	Size    []string  `json:"size,omitempty"`
	Changes [][4]int  `json:"changes,omitempty"`
	Sprites []*sprite `json:"sprites"`
	Runs    []runData `json:"runs"`
}

type runData struct {
	Name      string    `json:"name"`
	Names     []string  `json:"names,omitempty"` // of the classes
	Colour    int       `json:"colour"`
	Sprite    int       `json:"sprite"`
	Sigma     float64   `json:"sigma"`
	Seed      [2]uint32 `json:"seed"`
	NoiseNote string    `json:"noiseNote"`
	Frames    []frame   `json:"frames"`
	Rows      []row     `json:"rows"`
}

func (b *builder) payload() payload {
	out := payload{Eps: b.eps, Start: b.start, Sprites: make([]*sprite, len(b.sprites))}
	for i, s := range b.sprites {
		if s != nil {
			bare := *s
			bare.URI = "" // it is in the style sheet
			out.Sprites[i] = &bare
		}
	}
	for _, e := range b.eps {
		out.EpsText = append(out.EpsText, epsText(e))
		out.Lead = append(out.Lead, b.lead(e))
		if s := b.size(e); s != "" {
			out.Size = append(out.Size, s)
		}
		if b.comparable() {
			both, onlyA, onlyB, none := changes(b.runs[0], b.runs[1], e)
			out.Changes = append(out.Changes, [4]int{both, onlyA, onlyB, none})
		}
	}
	for i, r := range b.runs {
		d := runData{Name: r.Name, Names: r.Params.Cost.Names(), Colour: i % len(runColours), Sprite: b.sprite[i], Sigma: r.Header.Sigma,
			Seed: [2]uint32{uint32(r.Header.Seed), uint32(r.Header.Seed >> 32)}, NoiseNote: r.noiseNote(), Frames: b.frames[i]}
		var place map[int]int
		if s := b.sprites[b.sprite[i]]; s != nil {
			place = s.Place
		}
		for _, at := range r.byInterest(b.eps[b.start]) {
			d.Rows = append(d.Rows, r.row(at, place, b.eps))
		}
		out.Runs = append(out.Runs, d)
	}
	return out
}
