@main
struct Nacre {
    static func main() {}
}
