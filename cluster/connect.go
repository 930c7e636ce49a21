package cluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Access says how to reach servers and prove who one is. Secrets are in files,
// never on a command line.
type Access struct {
	URL          string // nats://host:4222 or tls://..., several with commas
	Creds        string // file: a NATS credentials file
	User         string // with PasswordFile, in place of credentials
	PasswordFile string
	CA           string // file: certificates to trust, in place of the system's
	Cert, Key    string // files: this side's certificate
}

func (a Access) password() (string, error) {
	if a.PasswordFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(a.PasswordFile)
	return strings.TrimSpace(string(data)), err
}

func (a Access) validate() error {
	switch {
	case (a.Cert == "") != (a.Key == ""):
		return errors.New("a certificate needs its key, and a key its certificate")
	case (a.User == "") != (a.PasswordFile == ""):
		return errors.New("a user needs a password file, and a password file its user")
	case a.User != "" && a.Creds != "":
		return errors.New("both a user and a credentials file are given: which one counts?")
	}
	return nil
}

// options are what every connection has: it never stops trying to come back.
func options(name string) []nats.Option {
	return []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second)}
}

// Connect connects to a cluster.
func Connect(a Access, name string) (*nats.Conn, error) {
	if err := a.validate(); err != nil {
		return nil, err
	}
	opts := options(name)
	if a.Creds != "" {
		opts = append(opts, nats.UserCredentials(a.Creds))
	}
	if a.User != "" {
		password, err := a.password()
		if err != nil {
			return nil, err
		}
		opts = append(opts, nats.UserInfo(a.User, password))
	}
	if a.CA != "" {
		opts = append(opts, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		opts = append(opts, nats.ClientCert(a.Cert, a.Key))
	}
	nc, err := nats.Connect(a.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", redact(a.URL), err)
	}
	return nc, nil
}

// redact takes passwords out of a list of addresses.
func redact(list string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		if u, err := url.Parse(strings.TrimSpace(p)); err == nil {
			parts[i] = u.Redacted()
		} else {
			parts[i] = "(an address that cannot be read)"
		}
	}
	return strings.Join(parts, ",")
}

// Server is a JetStream server inside this process, for runs without a
// cluster. It keeps everything in memory.
type Server struct {
	server *server.Server
	user   string
	pass   string
	folder string
}

// Embed starts a server. It listens on no port unless told to; beyond
// loopback only with credentials (a.User and a.PasswordFile, which workers must
// give too). With a.Cert it speaks TLS only, and with a.CA it demands
// certificates of its clients. listen is host:port or "".
func Embed(listen string, a Access) (*Server, error) {
	if err := a.validate(); err != nil {
		return nil, err
	}
	password, err := a.password()
	if err != nil {
		return nil, err
	}
	opts := &server.Options{ServerName: "lorica", NoSigs: true, NoLog: true, DontListen: listen == "", JetStream: true, Username: a.User, Password: password}
	if listen != "" {
		address, err := net.ResolveTCPAddr("tcp", listen)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		if !address.IP.IsLoopback() && (a.User == "" || password == "") {
			return nil, fmt.Errorf("listening on %s, which others can reach, needs a user and a password file", listen)
		}
		opts.Host, opts.Port = address.IP.String(), address.Port
		if address.IP == nil {
			opts.Host = "0.0.0.0"
		}
		if opts.Port == 0 {
			opts.Port = server.RANDOM_PORT
		}
		if a.Cert != "" {
			conf, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: a.Cert, KeyFile: a.Key, CaFile: a.CA, Verify: a.CA != ""})
			if err != nil {
				return nil, err
			}
			conf.MinVersion = tls.VersionTLS12
			opts.TLSConfig, opts.TLSVerify = conf, a.CA != ""
		}
	}
	// The server wants a folder for its own notes; streams and models stay in memory.
	folder, err := os.MkdirTemp("", "lorica-nats-")
	if err != nil {
		return nil, err
	}
	opts.StoreDir = folder
	s := &Server{user: a.User, pass: password, folder: folder}
	if s.server, err = server.NewServer(opts); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	s.server.Start()
	if !s.server.ReadyForConnections(20 * time.Second) {
		s.Close()
		return nil, fmt.Errorf("the server inside this process did not start (is %q free?)", listen)
	}
	return s, nil
}

// Connect connects to the server without a network.
func (s *Server) Connect(name string) (*nats.Conn, error) {
	opts := append(options(name), nats.InProcessServer(s.server))
	if s.user != "" {
		opts = append(opts, nats.UserInfo(s.user, s.pass))
	}
	return nats.Connect("", opts...)
}

// Address is where the server listens, or "".
func (s *Server) Address() string {
	if a, ok := s.server.Addr().(*net.TCPAddr); ok && a != nil {
		return a.String()
	}
	return ""
}

// Close stops the server; what it held is gone.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	os.RemoveAll(s.folder)
}
