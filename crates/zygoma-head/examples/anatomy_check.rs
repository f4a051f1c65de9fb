//! Checks the anatomy of many sampled heads and prints what it finds:
//! `cargo run --release -p zygoma-head --example anatomy_check -- [heads] [heads with all shapes]`.

use std::time::Instant;

use rayon::prelude::*;
use zygoma_head::anatomy::{Anatomy, FillDetail, checks};
use zygoma_head::{Head, HeadOptions, Level};

fn main() {
    let number = |place: usize, default: u64| {
        std::env::args().nth(place).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    let (heads, posed) = (number(1, 500), number(2, 20));
    let first = Head::new(&HeadOptions::sampled(1, Level::High));
    let made = Anatomy::new(&first);
    let start = Instant::now();
    let again = Anatomy::new(&first);
    println!("one anatomy            {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
    println!(
        "wraps {} vertices, fill {} nodes {} tetrahedra",
        made.skin_wrap.positions.len(),
        again.fill.positions.len(),
        again.fill.tets.len()
    );
    let start = Instant::now();
    let found: Vec<Figures> = (0..heads).into_par_iter().map(|seed| figures(seed, seed < posed)).collect();
    let count = |pick: fn(&Figures) -> usize| found.iter().map(pick).sum::<usize>();
    let least = |pick: fn(&Figures) -> f64| 1e3 * found.iter().map(pick).fold(f64::MAX, f64::min);
    println!(
        "{heads} heads at rest, {posed} of them in all shapes, in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    println!("inverted prisms        {}", count(|f| f.inverted.prisms));
    println!("inverted soft tissue   {}", count(|f| f.inverted.soft_tissue));
    println!("inverted muscle        {}", count(|f| f.inverted.muscle));
    println!("inverted fill          {}, {} when coarse", count(|f| f.inverted.fill), count(|f| f.coarse));
    println!("largest asymmetry      {:.1e} m", found.iter().map(|f| f.asymmetry).fold(0.0, f64::max));
    println!("least gaps of wraps    {:.2} mm, {:.2} mm", least(|f| f.gaps[0]), least(|f| f.gaps[1]));
    println!("bone under skin        {:.2} mm at rest", least(|f| f.covers[0].bone));
    let all = || found.iter().flat_map(|f| f.covers.iter().map(move |c| (f.seed, c)));
    let worst = |name: &str, pick: fn(&checks::Cover) -> f64| {
        let lowest = all().min_by(|a, b| pick(a.1).total_cmp(&pick(b.1)));
        if let Some((seed, cover)) = lowest {
            println!("{name:22} {:.2} mm (head {seed}, {})", 1e3 * pick(cover), cover.expression);
        }
    };
    worst("bone under skin", |c| c.bone);
    worst("ridge to outer skin", |c| c.ridge);
    worst("ridge to lips", |c| c.ridge_to_lips);
    worst("teeth to lips", |c| c.teeth_to_lips);
    for detail in FillDetail::STORED {
        println!("elements across slit   {} in the {detail:?} fill", checks::across_the_slit(detail));
    }
    for depth in checks::depths() {
        println!("{:22} {:5.1} mm published, {:5.1} mm here", depth.name, depth.published, depth.measured);
    }
}

struct Figures {
    seed: u64,
    inverted: checks::Inverted,
    /// Inverted tetrahedra of the coarse fill.
    coarse: usize,
    gaps: [f64; 2],
    asymmetry: f64,
    covers: Vec<checks::Cover>,
}

fn figures(seed: u64, all_shapes: bool) -> Figures {
    let head = Head::new(&HeadOptions::sampled(seed, Level::High));
    let anatomy = Anatomy::new(&head);
    Figures {
        seed,
        inverted: checks::inverted(&anatomy),
        coarse: Anatomy::filled(&head, FillDetail::Coarse).fill.inverted(),
        gaps: checks::wrap_gaps(&anatomy),
        asymmetry: checks::asymmetry(&anatomy),
        covers: checks::covers(&head, &anatomy, all_shapes),
    }
}
